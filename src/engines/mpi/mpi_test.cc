#include "engines/mpi/mpi.h"

#include <gtest/gtest.h>

#include "base/text/text.h"
#include "engines/allocation.h"
#include "engines/mpi/world.h"

namespace toprun::engines {
namespace {

// As Open MPI 4.1.4 sets them.
Environment open_mpi_world(const char* rank, const char* size, const char* local_rank,
                           const char* local_size, const char* nodes) {
  return {{"OMPI_COMM_WORLD_RANK", rank},
          {"OMPI_COMM_WORLD_SIZE", size},
          {"OMPI_COMM_WORLD_LOCAL_RANK", local_rank},
          {"OMPI_COMM_WORLD_LOCAL_SIZE", local_size},
          {"OMPI_COMM_WORLD_NODE_RANK", local_rank},
          {"OMPI_MCA_orte_num_nodes", nodes},
          {"OMPI_MCA_orte_node_regex", "ctl,n[1:0-1]@0(3)"},
          {"OMPI_MCA_orte_hnp_uri", "77.0;tcp://10.77.2.1:39579;tcp6://[fd77::c9]:50607"},
          {"OMPI_MCA_orte_precondition_transports", "bf26-4240"},
          {"PMIX_NAMESPACE", "1351942145"},
          {"PMIX_RANK", rank}};
}

// As Open MPI 5.0.7 does.
Environment prrte(const char* rank, const char* size, const char* local_rank,
                  const char* local_size) {
  return {{"OMPI_COMM_WORLD_RANK", rank},
          {"OMPI_COMM_WORLD_SIZE", size},
          {"OMPI_COMM_WORLD_LOCAL_RANK", local_rank},
          {"OMPI_COMM_WORLD_LOCAL_SIZE", local_size},
          {"PMIX_NAMESPACE", "prterun-login-1-8186@1"},
          {"PMIX_RANK", rank}};
}

// As MPICH 4.2 does.
Environment hydra_world(const char* rank, const char* size, const char* local_rank,
                        const char* local_size) {
  return {{"PMI_RANK", rank},
          {"PMI_SIZE", size},
          {"MPI_LOCALRANKID", local_rank},
          {"MPI_LOCALNRANKS", local_size}};
}

Environment with_variable(Environment environment, const char* name, const char* value) {
  environment.set(name, value);
  return environment;
}

Hints mpi_nnodes(int count, bool in_place = false) {
  Hints hints;
  hints.nnodes = count;
  hints.nnodes_source = "--nnodes";
  hints.ranks_in_place = in_place;
  hints.endpoint_source = "--rdzv-endpoint";
  return hints;
}

// "engine stance NODES node N task N of N candidates", or the error's line.
std::string detected_mpi(const Environment& environment, const Hints& hints) {
  constexpr const char* stances[] = {"single", "agent", "in_place", "starter"};
  const auto found = detect(environment, hints);
  if (!found) return found.error().line();
  return fmt::format("{} {} {} node {} task {} of {} at {}", name_of(found->engine),
                     stances[static_cast<int>(found->stance)], found->node_count,
                     found->my_node.value_or(-1), found->task.value_or(-1), found->tasks,
                     join(found->root_candidates, " "));
}

TEST(Mpi, Detects) {
  Hints in_place;
  in_place.ranks_in_place = true;
  Hints alone;
  alone.standalone = true;
  const Environment two_agents = open_mpi_world("1", "2", "0", "1", "2");
  const Environment slurm_task = {{"SLURM_JOB_ID", "7"},         {"SLURM_JOB_NODELIST", "n[0-1]"},
                                  {"SLURM_STEP_ID", "0"},        {"SLURM_STEP_NODELIST", "n1"},
                                  {"SLURM_STEP_NUM_TASKS", "1"}, {"SLURM_STEP_TASKS_PER_NODE", "1"},
                                  {"SLURM_NODEID", "0"}};
  Environment inside_slurm = two_agents;
  for (const auto& [name, value] : slurm_task.variables()) inside_slurm.set(name, value);
  inside_slurm.unset("OMPI_MCA_orte_node_regex");
  Environment pmi2 = slurm_task;
  pmi2.set("PMI_RANK", "0");
  pmi2.set("PMI_SIZE", "4");
  const Environment big =
      with_variable(hydra_world("3", "8", "1", "2"), "SLURM_JOB_NODELIST", "n[0-3]");
  struct Case {
    const char* what;
    Environment environment;
    Hints hints;
    const char* expected;
  };
  for (const auto& [what, environment, hints, expected] : std::vector<Case>{
           {"one per node",
            two_agents,
            {},
            "mpi agent 2 node 1 task 1 of 2 at ctl n0 n1 10.77.2.1 fd77::c9"},
           {"one per slot",
            open_mpi_world("3", "4", "1", "2", "2"),
            {},
            "mpi in_place 2 node -1 task 3 of 4 at ctl n0 n1 10.77.2.1 fd77::c9"},
           {"alone here, but not elsewhere",
            open_mpi_world("2", "3", "0", "1", "2"),
            {},
            "mpi in_place 2 node -1 task 2 of 3 at ctl n0 n1 10.77.2.1 fd77::c9"},
           {"one per node in place", two_agents, in_place,
            "mpi in_place 2 node -1 task 1 of 2 at ctl n0 n1 10.77.2.1 fd77::c9"},
           {"all on this host",
            open_mpi_world("1", "4", "1", "4", "1"),
            {},
            "mpi in_place 1 node -1 task 1 of 4 at 127.0.0.1"},
           {"one process",
            open_mpi_world("0", "1", "0", "1", "1"),
            {},
            "mpi single 1 node 0 task 0 of 1 at 127.0.0.1"},
           {"--standalone", two_agents, alone, "local single 1 node 0 task -1 of 0 at "},
           {"an endpoint of the user's", two_agents, mpi_nnodes(2),
            "mpi agent 2 node 1 task 1 of 2 at ctl n0 n1 10.77.2.1 fd77::c9"},
           {"fewer nodes than there are", two_agents, mpi_nnodes(3),
            "--nnodes 3: Open MPI's mpirun started 2 processes on 2 nodes; drop --nnodes or start "
            "one process on each of 3 nodes: mpirun --map-by ppr:1:node"},
           {"mpirun inside Slurm",
            inside_slurm,
            {},
            "mpi agent 2 node 1 task 1 of 2 at n0 n1 10.77.2.1 fd77::c9"},
           {"PMI variables of a Slurm step", pmi2, {}, "slurm single 1 node 0 task -1 of 0 at "},
           {"Open MPI 5",
            prrte("1", "2", "0", "1"),
            {},
            "mpi agent 2 node 1 task 1 of 2 at login-1"},
           {"Open MPI 5, per slot",
            prrte("5", "8", "1", "4"),
            {},
            "mpi in_place 2 node -1 task 5 of 8 at login-1"},
           {"Hydra", hydra_world("1", "2", "0", "1"), {}, "mpi agent 2 node 1 task 1 of 2 at "},
           {"Hydra, per slot, in an allocation",
            big,
            {},
            "mpi in_place 4 node -1 task 3 of 8 at n0 n1 n2 n3"},
           {"the user counts better", hydra_world("3", "5", "0", "2"), mpi_nnodes(2, true),
            "mpi in_place 2 node -1 task 3 of 5 at "},
           {"one each of several mpiruns", hydra_world("0", "1", "0", "1"), mpi_nnodes(2),
            "manual agent 2 node -1 task -1 of 0 at "},
           {"two launchers",
            with_variable(
                with_variable(hydra_world("0", "2", "0", "1"), "OMPI_COMM_WORLD_SIZE", "4"),
                "OMPI_COMM_WORLD_RANK", "0"),
            {},
            "OMPI_COMM_WORLD_SIZE=4 but PMI_SIZE=2: the variables of Open MPI's mpirun and those "
            "of MPICH's mpiexec are set, but only one of them can have started this process; start "
            "toprun with one of them, and remove the variables of the other (env -u)"},
           {"a rank beyond the size",
            open_mpi_world("4", "4", "0", "1", "4"),
            {},
            "OMPI_COMM_WORLD_RANK=\"4\": Open MPI's mpirun sets it to a number from 0 to 3 "
            "together with its other variables; pass on all of its variables or none"},
           {"no local rank",
            with_variable(prrte("1", "2", "0", "1"), "OMPI_COMM_WORLD_LOCAL_RANK", ""),
            {},
            "OMPI_COMM_WORLD_LOCAL_RANK is not set: Open MPI's mpirun sets it to a number from 0 "
            "to 0 together with its other variables; pass on all of its variables or none"},
           {"PMI of a launcher that we do not know",
            {{"PMI_SIZE", "4"}, {"PMI_RANK", "0"}},
            {},
            "a launcher started 4 processes (PMI_SIZE): each process would be a separate job with "
            "one node; "
            "start one toprun per node and give --nnodes, --node-rank and --rdzv-endpoint"},
       }) {
    EXPECT_EQ(detected_mpi(environment, hints), expected) << what;
  }
}

// "NODES at name=slots,…" or the error's line.
std::string started(const Environment& environment, const Hints& hints) {
  const auto found = detect(environment, hints);
  if (!found) return found.error().line();
  if (found->stance != Stance::starter) return detected_mpi(environment, hints);
  return fmt::format("{} starts {} of {}", name_of(found->engine), found->node_count,
                     node_list_text(found->nodes));
}

TEST(Mpi, StartsWhatItIsAskedToStart) {
  Hints via;
  via.via = "--via";
  via.host_name = "here";
  const auto on_hosts = [&](std::vector<Node> nodes) {
    Hints hints = via;
    hints.hosts = std::move(nodes);
    hints.hosts_source = "--hosts";
    return hints;
  };
  const Hints two = on_hosts({{"a", 4, "a"}, {"b", std::nullopt, "b"}});
  Hints three = two;
  three.nnodes = 3;
  three.nnodes_source = "--nnodes";
  Hints unnamed = via;
  unnamed.nnodes = 2;
  unnamed.nnodes_source = "--nnodes";
  Hints reported = two;
  reported.endpoint_source = "--rdzv-endpoint";
  Hints ranked = two;
  ranked.node_rank = 1;
  Hints alone = via;
  alone.standalone = true;
  Hints alone_after_all = alone;
  alone_after_all.via = "TOPRUN_VIA";
  Hints in_place = two;
  in_place.ranks_in_place = true;
  const Environment batch = {{"SLURM_JOB_ID", "7"},
                             {"SLURM_JOB_NODELIST", "n[0-2]"},
                             {"SLURM_NTASKS_PER_NODE", "2"},
                             {"SLURM_TASKS_PER_NODE", "2(x3)"},
                             {"SLURMD_NODENAME", "n0"}};
  Hints ranks_here = via;
  ranks_here.via = "--launcher";
  const Environment step = {{"SLURM_JOB_ID", "7"},
                            {"SLURM_STEP_ID", "0"},
                            {"SLURM_JOB_NODELIST", "n[0-1]"},
                            {"SLURM_STEP_NODELIST", "n[0-1]"},
                            {"SLURM_STEP_TASKS_PER_NODE", "1(x2)"},
                            {"SLURM_STEP_NUM_TASKS", "2"},
                            {"SLURM_PROCID", "0"}};
  struct Case {
    const char* what;
    Environment environment;
    Hints hints;
    const char* expected;
  };
  for (const auto& [what, environment, hints, expected] : std::vector<Case>{
           {"named hosts", {}, two, "mpi starts 2 of a=4,b"},
           {"a Slurm job's nodes", batch, via, "mpi starts 3 of n0=2,n1=2,n2=2"},
           {"hosts before the job's", batch, two, "mpi starts 2 of a=4,b"},
           {"this host only", {}, ranks_here, "mpi starts 1 of here"},
           {"no hosts",
            {},
            via,
            "--via mpirun: no hosts are given, and this is not a Slurm allocation; give --hosts or "
            "--hostfile, or drop --via"},
           {"a step of several tasks", step, two,
            "--via mpirun: Slurm has started one toprun per node already; drop --via"},
           {"hosts that nobody names",
            {},
            unnamed,
            "--nnodes 2: the hosts are not known; give --hosts or --hostfile, or start toprun in a "
            "Slurm allocation"},
           {"more than are named", {}, three, "--nnodes 3: --hosts names 2 hosts"},
           {"an endpoint",
            {},
            reported,
            "--rdzv-endpoint with --via mpirun: the agents find each other; drop one of them"},
           {"a rank",
            {},
            ranked,
            "--node-rank with --via mpirun: mpirun starts all nodes; drop one of them"},
           {"in place",
            {},
            in_place,
            "--ranks-in-place with --via mpirun: mpirun is not running yet; drop one of them"},
           {"another user",
            {},
            on_hosts({{"a", 1, "me@a"}}),
            "me@a in --hosts: mpirun takes the user name only from ssh's configuration; give only "
            "the host's name"},
           {"alone",
            {},
            alone,
            "--standalone with --via mpirun: --standalone works only on this host; drop one of "
            "them"},
           {"alone, whatever a file says",
            {},
            alone_after_all,
            "local single 1 node 0 task -1 of 0 at "},
           {"inside mpirun", open_mpi_world("1", "2", "0", "1", "2"), two,
            "--via mpirun: Open MPI's mpirun has started this process already; drop --via"},
       }) {
    EXPECT_EQ(started(environment, hints), expected) << what;
  }
}

TEST(Mpi, KnowsItsOwnAgents) {
  Hints hints;
  hints.via = "--via";
  hints.hosts = {{"b", 4, "b"}, {"a.x", std::nullopt, "a.x"}};
  hints.host_name = "a";
  Environment environment = prrte("1", "2", "0", "1");
  environment.set("TOPRUN_STEP", "mpi");
  environment.set("TOPRUN_MPI_NODES", "a.x=4,b");
  const auto found = detect(environment, hints);
  ASSERT_TRUE(found) << found.error().line();
  EXPECT_EQ(found->stance, Stance::agent);
  EXPECT_EQ(found->node_name, "a.x");
  EXPECT_EQ(found->my_node, 0);
  EXPECT_EQ(found->task, 1);
  EXPECT_EQ(join(found->root_candidates, " "), "a.x b");
  EXPECT_TRUE(found->started_by_toprun);
  EXPECT_FALSE(found->hears_launcher);
  environment.set("TOPRUN_MPI_NODES", "a.x=4");
  const auto other = detect(environment, hints);
  ASSERT_FALSE(other);
  EXPECT_EQ(other.error().line(),
            "the mpirun that toprun started has 2 processes for 1 node: toprun needs one process "
            "on each node; unset "
            "TOPRUN_STEP if you started mpirun yourself");
}

TEST(Mpi, TellsJobsApartAndKeepsTheirKey) {
  const auto one = detect(open_mpi_world("1", "2", "0", "1", "2"), {});
  const auto other = detect(prrte("1", "2", "0", "1"), {});
  ASSERT_TRUE(one && other);
  EXPECT_EQ(one->job, "mpi.1351942145");
  EXPECT_EQ(other->job, "mpi.prterun-login-1-8186@1");
  EXPECT_EQ(one->key, "bf26-4240");
  EXPECT_EQ(other->key, "");
  EXPECT_NE(one->port, other->port);
  for (const auto& found : {one, other}) {
    EXPECT_GE(*found->port, 61'000);
    EXPECT_LE(*found->port, 65'535);
  }
}

TEST(Mpi, SaysThatItsAgentIsBound) {
  const auto bound = detect(
      with_variable(open_mpi_world("1", "2", "0", "1", "2"), "OMPI_MCA_orte_bound_at_launch", "1"),
      {});
  ASSERT_TRUE(bound);
  ASSERT_EQ(bound->notes.size(), 1u);
  EXPECT_NE(bound->notes[0].find("--bind-to none"), std::string::npos);
}

TEST(OrteHosts, ReadsTheirForm) {
  struct Case {
    const char* text;
    const char* expected;
  };
  for (const auto& [text, expected] : {Case{"ctl,n[1:0-1]@0(3)", "ctl n0 n1"},
                                       {"n[3:8-10,12]-ib@0(4)", "n008-ib n009-ib n010-ib n012-ib"},
                                       {"a,b", "a b"},
                                       {"n[2:1-2]x[1:3]", "n01x[1:3] n02x[1:3]"},
                                       {"", ""},
                                       {"@0(3)", ""},
                                       {"n[1:0-1", ""},
                                       {"n[0-1]", ""},
                                       {"n[x:0-1]", ""},
                                       {"n[1:1-0]", ""},
                                       {"n[1:-1]", ""},
                                       {"n[99:0-1]", ""},
                                       {"n[1:0-99999999999999999999]", ""}}) {
    EXPECT_EQ(join(orte_hosts(text), " "), expected) << text;
  }
  EXPECT_EQ(orte_hosts("n[1:0-999999999]").size(), 64u);
}

TEST(OrteAddresses, ReadsTheirForm) {
  struct Case {
    const char* text;
    const char* expected;
  };
  for (const auto& [text, expected] :
       {Case{"77.0;tcp://10.77.2.1,10.0.0.5:39579;tcp6://[fd77::c9]:50607",
             "10.77.2.1 10.0.0.5 fd77::c9"},
        {"77.0;usock;tcp://10.0.0.1:1", "10.0.0.1"},
        {"tcp://", ""},
        {"tcp://:5", ""},
        {"", ""}}) {
    EXPECT_EQ(join(orte_addresses(text), " "), expected) << text;
  }
}

TEST(MpiVariables, AreThoseOfARank) {
  Environment environment = open_mpi_world("1", "2", "0", "1", "2");
  environment.set("OMPI_MCA_btl", "tcp");
  environment.set("PATH", "/bin");
  for (const std::string& name : mpi_variables(environment)) environment.unset(name);
  EXPECT_EQ(join(environment.entries(), " "), "OMPI_MCA_btl=tcp PATH=/bin");
}

}  // namespace
}  // namespace toprun::engines
