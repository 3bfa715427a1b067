#include "engines/mpi/mpirun.h"

#include <gtest/gtest.h>

#include "base/text/text.h"
#include "engines/allocation.h"

namespace toprun::engines {
namespace {

TEST(Mpirun, IsKnownByItsVersion) {
  struct Case {
    const char* printed;
    const char* expected;
  };
  constexpr const char* kinds[] = {"orte", "prrte", "hydra"};
  for (const auto& [printed, expected] :
       {Case{"mpirun (Open MPI) 4.1.4\n\nReport bugs to …\n", "orte"},
        {"mpirun.openmpi (OpenRTE) 4.1.4\n", "orte"},
        {"mpirun (Open MPI) 3.1.6\n", "orte"},
        {"mpirun.openmpi (Open MPI) 5.0.7\n", "prrte"},
        {"mpirun (Open MPI) 6.0.0rc2\n", "prrte"},
        {"prterun (PRRTE) 3.0.1\n", "prrte"},
        {"HYDRA build details:\n    Version:                                 4.2.1\n", "hydra"},
        {"Intel(R) MPI Library for Linux* OS, Version 2021.8 Build 20221129\n", "hydra"},
        {"mpirun (Open MPI) 2.1.1\n",
         "mpirun is Open MPI 2: this version is too old; use Open MPI 3 or newer, MPICH or Intel "
         "MPI"},
        {"",
         "mpirun --version: mpirun printed \"\"; give the path of the mpirun of Open MPI, MPICH or "
         "Intel "
         "MPI in TOPRUN_MPIRUN"},
        {"IBM Spectrum\nx",
         "mpirun --version: mpirun printed \"IBM Spectrum\"; give the path of the mpirun of Open "
         "MPI, "
         "MPICH or Intel MPI in TOPRUN_MPIRUN"}}) {
    const auto kind = mpirun_in(printed);
    EXPECT_EQ(kind ? kinds[static_cast<int>(*kind)] : kind.error().line(), expected) << printed;
  }
}

MpirunCommand command(Mpirun kind) {
  return {{"mpirun"}, kind, true, {"NCCL_DEBUG", "PATH"}, {"/opt/toprun", "train.py"}};
}

// Open MPI's words were run with 4.1.4 and 5.0.7, Hydra's with 4.2.1.
TEST(Mpirun, IsToldHowToStartAgents) {
  const std::vector<Node> nodes = {{"n0", 4}, {"n1", std::nullopt}};
  const std::string open_mpi =
      "mpirun --allow-run-as-root -n 2 --host n0:1,n1:1 --map-by ppr:1:node --bind-to none -x "
      "NCCL_DEBUG -x PATH /opt/toprun train.py";
  EXPECT_EQ(join(mpirun_agents(command(Mpirun::orte), nodes), " "), open_mpi);
  EXPECT_EQ(join(mpirun_agents(command(Mpirun::prrte), nodes), " "), open_mpi);
  EXPECT_EQ(join(mpirun_agents(command(Mpirun::hydra), nodes), " "),
            "mpirun -n 2 -hosts n0,n1 -ppn 1 -bind-to none -genvall /opt/toprun "
            "train.py");
}

TEST(Mpirun, LogsInToManyHostsByItself) {
  const std::vector<Node> nodes(64, Node{"n", std::nullopt});
  struct Case {
    Mpirun kind;
    const char* expected;
  };
  for (const auto& [kind, expected] :
       {Case{Mpirun::orte, "--mca plm_rsh_no_tree_spawn 1 --mca plm_rsh_num_concurrent 64"},
        {Mpirun::prrte, "--prtemca plm_ssh_no_tree_spawn 1 --prtemca plm_ssh_num_concurrent 64"}}) {
    const std::string line = join(mpirun_agents(command(kind), nodes), " ");
    EXPECT_NE(line.find(expected), std::string::npos) << line;
  }
  EXPECT_EQ(join(mpirun_agents(command(Mpirun::orte), {nodes.begin(), nodes.end() - 1}), " ")
                .find("plm_rsh"),
            std::string::npos);
}

TEST(Mpirun, IsToldWhereEveryRankGoes) {
  const std::string places =
      "mpirun --allow-run-as-root -n 8 --hostfile FILE --map-by seq --bind-to none";
  const std::string rest = " -x NCCL_DEBUG -x PATH /opt/toprun train.py";
  EXPECT_EQ(join(mpirun_ranks(command(Mpirun::orte), "FILE", 8), " "),
            places + " --tag-output" + rest);
  EXPECT_EQ(join(mpirun_ranks(command(Mpirun::prrte), "FILE", 8), " "), places + rest);
  EXPECT_EQ(join(mpirun_ranks(command(Mpirun::hydra), "FILE", 8), " "),
            "mpirun -n 8 -f FILE -bind-to none -genvall /opt/toprun train.py");
}

TEST(Mpirun, TroubleIsExplained) {
  EXPECT_EQ(
      mpirun_trouble("a\nThere are not enough slots available in the system to satisfy the 2\n")
          ->line(),
      "mpirun has fewer slots than ranks: mpirun printed \"There are not enough slots available in "
      "the "
      "system to satisfy the 2\"; request fewer ranks with --ranks-per-node, or more tasks per "
      "node "
      "in the job's header");
  EXPECT_EQ(
      mpirun_trouble("ssh: connect to host n3 port 22: No route to host\r\n---\nORTE was unable "
                     "to reliably start one or more daemons.\n")
          ->line(),
      "ssh cannot reach a host: mpirun printed \"ssh: connect to host n3 port 22: No route to "
      "host\"; check that the host is up and that no firewall blocks its port, or leave it out "
      "of --hosts");
  // Open MPI 4.1's help-errmgr-base.txt
  EXPECT_EQ(mpirun_trouble("An ORTE daemon has unexpectedly failed after launch and before\n"
                           "communicating back to mpirun. This could be caused by a number\n")
                ->line(),
            "mpirun's daemon on a host ended before it reached mpirun: mpirun printed \"An ORTE "
            "daemon has unexpectedly failed after launch and before\"; look for a network that all "
            "hosts share and a firewall between them, and install the same Open MPI on every host");
  EXPECT_EQ((*mpirun_trouble("root@n1: Permission denied (publickey).\nORTE was unable to reliably "
                             "start one or more daemons.\n"))
                ->what,
            "ssh would have asked for a password");
  EXPECT_EQ(
      (*mpirun_trouble("as it could not access\nor execute an executable:\n\nExecutable: /x\n"))
          ->what,
      "a host lacks a program");
  EXPECT_FALSE(mpirun_trouble("Primary job  terminated normally, but 1 process returned\n"));
  EXPECT_FALSE(mpirun_trouble(""));
}

TEST(Mpirun, SomeTroubleComesBeforeTheRanks) {
  EXPECT_TRUE(no_rank_began("ssh: Could not resolve hostname nosuch: Name or service not known\n"));
  EXPECT_TRUE(no_rank_began("ORTE was unable to reliably start one or more daemons.\n"));
  EXPECT_FALSE(
      no_rank_began("as it could not access\nor execute an executable:\n"));  // some may run
  EXPECT_FALSE(no_rank_began("PMIX ERROR: TIMEOUT in file x\n"));
  EXPECT_FALSE(no_rank_began(""));
}

TEST(Mpirun, NamesTheRankThatFailedFirst) {
  const struct {
    std::string_view said;
    std::optional<int> rank;
  } rows[] = {
      {"The first process to do so was:\n\n  Process name: [[26677,1],12]\n  Exit code:    1\n",
       12},
      {"  Process name: [prterun-n0-12@1,2]\n", std::nullopt},
      {"  Process name: [[26677,1],x]\n", std::nullopt},
      {"  Process name: [[26677,1],-1]\n", std::nullopt},
      {"  Process name: [[26677", std::nullopt},
      {"", std::nullopt},
  };
  for (const auto& [said, rank] : rows) EXPECT_EQ(first_to_fail(said), rank) << said;
}

TEST(Mpirun, NamesTheRankThatASignalKilled) {
  const struct {
    std::string_view said;
    std::optional<std::pair<int, int>> killed;
  } rows[] = {
      {"---\nmpirun noticed that process rank 12 with PID 0 on node n1 exited on signal 9 "
       "(Killed).\n",
       std::pair(12, 9)},
      {"prterun noticed that process rank 0 with PID 17 on node n0 exited on\nsignal 11 "
       "(Segmentation fault).\n",
       std::pair(0, 11)},
      {"mpirun noticed that process rank 1 with PID 0 on node n1 exited on signal 99999 (?).\n",
       {}},
      {"mpirun noticed that process rank x with PID 0 on node n1 exited on signal 9\n", {}},
      {"mpirun noticed that process rank 1 with PID 0", {}},
      {"", {}},
  };
  for (const auto& [said, killed] : rows) {
    const auto found = killed_rank(said);
    ASSERT_EQ(found.has_value(), killed.has_value()) << said;
    if (found) EXPECT_EQ(std::pair(found->rank, found->signal), *killed) << said;
  }
}

TEST(Mpirun, SaysThatItEnds) {
  EXPECT_TRUE(
      mpirun_is_ending("---\nPrimary job  terminated normally, but 1 process returned\na "
                       "non-zero exit code. Per user-direction, the job has been aborted.\n"));
  EXPECT_TRUE(
      mpirun_is_ending("prterun detected that one or more processes exited with non-zero "
                       "status,\nthus causing the job to be terminated."));
  EXPECT_FALSE(mpirun_is_ending("toprun: rank 2 on n1 ended with exit code 7\n"));
}

TEST(CountList, JoinsRuns) {
  EXPECT_EQ(count_list_text(std::vector{8, 8, 8, 2}), "8(x3),2");
  EXPECT_EQ(count_list_text(std::vector{1}), "1");
  EXPECT_EQ(count_list_text({}), "");
}

}  // namespace
}  // namespace toprun::engines
