#include "engines/login/login.h"

#include <gtest/gtest.h>
#include <stdlib.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "base/os/os_testing.h"
#include "base/process/command.h"
#include "base/text/text.h"

namespace toprun::engines {
namespace {

namespace fs = std::filesystem;

Hints hints_of(std::vector<Node> nodes) {
  Hints hints;
  hints.hosts = std::move(nodes);
  hints.hosts_source = "--hosts";
  hints.host_name = "here";
  return hints;
}

TEST(Ssh, TheLauncherStartsAgents) {
  const auto found = detect({}, hints_of({{"a", 4}, {"b", std::nullopt, "me@b"}}));
  ASSERT_TRUE(found) << found.error().line();
  EXPECT_EQ(found->engine, EngineKind::ssh);
  EXPECT_EQ(found->stance, Stance::starter);
  EXPECT_EQ(found->node_count, 2);
  EXPECT_EQ(found->node_count_source, "--hosts");
  EXPECT_EQ(found->nodes[1].login, "me@b");
}

TEST(Exec, TheLauncherStartsAgentsInPods) {
  Hints hints = hints_of({{"a-0", {}, "a-0", {"kubectl", "exec", "a-0", "-i", "--"}, "10.1.0.5"},
                          {"a-1", {}, "a-1", {"kubectl", "exec", "a-1", "-i", "--"}, "10.1.0.6"}});
  hints.hosts_source = "--in";
  const auto found = detect({}, hints);
  ASSERT_TRUE(found) << found.error().line();
  EXPECT_EQ(found->engine, EngineKind::exec);
  EXPECT_EQ(found->stance, Stance::starter);
  EXPECT_EQ(found->node_count, 2);
  EXPECT_EQ(found->node_count_source, "--in");
}

// Whatever the pod's operator says of its own job.
TEST(Exec, AnAgentInAPodIsWhatItIsTold) {
  Environment environment{{"KUBERNETES_SERVICE_HOST", "10.96.0.1"},
                          {"PET_NNODES", "7"},
                          {"RANK", "5"},
                          {"WORLD_SIZE", "14"},
                          {"MASTER_ADDR", "a-0"},
                          {"JOB_COMPLETION_INDEX", "5"}};
  LoginPlace place{"exec.1", {{"a-0", {}}, {"a-1", {}}}, 1, 0, "10.1.0.5", EngineKind::exec};
  for (const bool stays : {false, true}) {
    place.stays = stays;
    for (const auto& [name, value] : variables_of(place)) environment.set(name, value);
    const auto found = detect(environment, {});
    ASSERT_TRUE(found) << found.error().line();
    EXPECT_EQ(found->engine, EngineKind::exec);
    EXPECT_EQ(found->stance, Stance::agent);
    EXPECT_EQ(found->node_count, 2);
    EXPECT_EQ(found->my_node, 1);
    EXPECT_EQ(found->root_address, "10.1.0.5");
    EXPECT_EQ(found->hears_launcher, !stays);
  }
}

TEST(Ssh, AnAgentIsWhatItIsTold) {
  const LoginPlace place{
      "ssh.1", {{"a", 4}, {"b", std::nullopt}, {"fd77::3", 2}}, 2, 1, "10.0.0.1"};
  Environment environment{{"SLURM_JOB_ID", "17"}};
  for (const auto& [name, value] : variables_of(place)) environment.set(name, value);
  const auto found = detect(environment, {});
  ASSERT_TRUE(found) << found.error().line();
  EXPECT_EQ(found->engine, EngineKind::ssh);
  EXPECT_EQ(found->stance, Stance::agent);
  EXPECT_EQ(found->node_count, 3);
  EXPECT_EQ(found->my_node, 2);
  EXPECT_EQ(found->node_name, "fd77::3");
  EXPECT_EQ(found->nodes[0].slots, 4);
  EXPECT_EQ(found->nodes[1].slots, std::nullopt);
  EXPECT_EQ(found->root_node, 1);
  EXPECT_EQ(found->root_address, "10.0.0.1");
  EXPECT_EQ(found->job, "ssh.1");
  EXPECT_TRUE(found->started_by_toprun);
}

TEST(Ssh, NodeCounts) {
  struct Case {
    std::optional<int> most, least;
    std::string expected;
  };
  const Case cases[] = {
      {std::nullopt, std::nullopt, "3"},
      {2, std::nullopt, "2"},
      {1, std::nullopt, "1"},
      {5, 2, "3"},
      {5, 4, "--nnodes 5: --hosts names 3 hosts"},
      {4, std::nullopt, "--nnodes 4: --hosts names 3 hosts"},
  };
  for (const auto& [most, least, expected] : cases) {
    Hints hints = hints_of({{"a", {}}, {"b", {}}, {"c", {}}});
    hints.nnodes = most;
    hints.min_nodes = least;
    hints.nnodes_source = "--nnodes";
    const auto found = detect({}, hints);
    EXPECT_EQ(found ? fmt::format("{}", found->node_count) : found.error().line(), expected);
  }
}

TEST(Ssh, Contradictions) {
  struct Case {
    void (*spoil)(Hints&);
    std::string expected;
  };
  const Case cases[] = {
      {[](Hints& hints) { hints.standalone = true; }, "--standalone with --hosts"},
      {[](Hints& hints) { hints.ranks_in_place = true; }, "--ranks-in-place with --hosts"},
      {[](Hints& hints) { hints.node_rank = 0; }, "--node-rank with --hosts"},
      {[](Hints& hints) { hints.endpoint_source = "--master-addr"; }, "--master-addr with --hosts"},
  };
  for (const auto& [spoil, expected] : cases) {
    Hints hints = hints_of({{"a", {}}});
    spoil(hints);
    const auto found = detect({}, hints);
    ASSERT_FALSE(found) << expected;
    EXPECT_TRUE(found.error().line().starts_with(expected)) << found.error().line();
  }
}

TEST(Ssh, SeveralStarters) {
  const Environment step = {{"SLURM_JOB_ID", "7"},
                            {"SLURM_STEP_ID", "0"},
                            {"SLURM_JOB_NODELIST", "n[0-1]"},
                            {"SLURM_STEP_NODELIST", "n[0-1]"},
                            {"SLURM_STEP_TASKS_PER_NODE", "1(x2)"},
                            {"SLURM_STEP_NUM_TASKS", "2"}};
  Environment one = step;
  one.set("SLURM_STEP_NODELIST", "n0");
  one.set("SLURM_STEP_TASKS_PER_NODE", "1");
  one.set("SLURM_STEP_NUM_TASKS", "1");
  const Environment mpirun = {{"OMPI_COMM_WORLD_RANK", "1"},
                              {"OMPI_COMM_WORLD_SIZE", "2"},
                              {"OMPI_COMM_WORLD_LOCAL_RANK", "0"},
                              {"OMPI_COMM_WORLD_LOCAL_SIZE", "1"}};
  const Hints hints = hints_of({{"a", {}}, {"b", {}}});
  EXPECT_TRUE(detect(one, hints));
  const auto by_srun = detect(step, hints);
  ASSERT_FALSE(by_srun);
  EXPECT_EQ(by_srun.error().line(),
            "--hosts: srun has started 2 processes of toprun, and each of them would start the "
            "whole job on these hosts; drop --hosts, or start toprun only once");
  const auto by_mpirun = detect(mpirun, hints);
  ASSERT_FALSE(by_mpirun);
  EXPECT_TRUE(by_mpirun.error().line().starts_with(
      "--hosts: Open MPI's mpirun has started 2 processes of toprun"))
      << by_mpirun.error().line();
}

TEST(Ssh, HostsFromAVariableYieldToTheCommandLine) {
  Hints hints = hints_of({{"a", {}}, {"b", {}}});
  hints.hosts_source = "TOPRUN_HOSTS";
  hints.standalone = true;
  EXPECT_EQ(detect({}, hints)->engine, EngineKind::local);
}

TEST(Ssh, Command) {
  EXPECT_EQ(shell_quote(ssh_command({}, "me@b", "x y")),
            "ssh -o BatchMode=yes -o ConnectTimeout=8 -o ServerAliveInterval=5 -o "
            "ServerAliveCountMax=3 -T -- me@b 'x y'");
  EXPECT_EQ(ssh_command({{"TOPRUN_SSH", "/opt/ssh  -F conf"}}, "b", "x")[2], "conf");
}

// As the shells see it: an emulator shows this program another one.
std::string machine_here() {
  const auto printed =
      process::output_of({"uname", "-m"}, {{"PATH", "/usr/bin:/bin"}}, std::chrono::seconds(20));
  return printed ? std::string(trim(*printed)) : printed.error().line();
}

std::vector<Binary> binaries(std::string id, std::size_t bytes) {
  return {{"a-quantum-computer", "ffffffffffffffff", 1}, {machine_here(), std::move(id), bytes}};
}

std::string needs() {
  return fmt::format("toprun-login need {}\n", machine_here());
}

// Any login shell has to hand the line on: csh breaks at '!' and line ends, fish at backslashes.
TEST(Ssh, LineIsSafeInAnyShell) {
  const std::string line = ssh_line(binaries("abc", 17));
  constexpr std::string_view opening = "exec sh -c '";
  ASSERT_TRUE(line.starts_with(opening) && line.ends_with('\''));
  const std::string_view inner =
      std::string_view(line).substr(opening.size(), line.size() - opening.size() - 1);
  EXPECT_EQ(inner.find_first_of("'\\!\n\r"), std::string_view::npos);
}

// Runs the line as a host's shell would, with a program of ours in toprun's place.
class SshLine : public testing::TestWithParam<std::string> {
 protected:
  static constexpr std::string_view program = "#!/bin/sh\necho \"up $TOPRUN_STEP\"\nexec cat\n";
  static constexpr std::string_view orders = "the orders\n";

  void SetUp() override {
    if (!process::find_program(GetParam(), environment()))
      GTEST_SKIP() << GetParam() << " is not installed";
  }
  void TearDown() override {
    for (const char* folder : {"/var/tmp", "/dev/shm", "/tmp"}) {
      fs::remove_all(fmt::format("{}/toprun-{}", folder, user_));
    }
  }
  Environment environment() const {
    return {{"PATH", getenv("PATH")}, {"HOME", home_.path()}, {"LOGNAME", user_}};
  }
  // `before`: what the shell does first, in mount namespaces of its own if there is something.
  process::Finished run(const std::string& before = {}) {
    const std::string line = ssh_line(binaries("0123456789abcdef", program.size()));
    std::vector<std::string> argv{GetParam(), "-c", line};
    if (!before.empty()) {
      argv = {"unshare", "--mount", GetParam(), "-c",
              fmt::format("{} || exit 77; {}", before, line)};
    }
    auto finished = process::run(argv, environment(), std::chrono::seconds(20),
                                 std::string(needs_program_ ? program : "") + std::string(orders));
    EXPECT_TRUE(finished) << finished.error().line();
    return finished ? *finished : process::Finished{};
  }
  fs::path cached() const { return home_.path() / ".cache/toprun/0123456789abcdef/toprun"; }
  std::string ran_at(const fs::path& path) const {
    return fmt::format("toprun-login run - - - - {}\nup login\n{}", path.string(), orders);
  }

  TemporaryFolder home_;
  const std::string user_ = fmt::format("test{}", ::getpid());
  bool needs_program_ = true;
};

TEST_P(SshLine, AbsentThenPresent) {
  EXPECT_EQ(run().out, needs() + ran_at(cached()));
  EXPECT_EQ(fs::status(cached()).permissions(), fs::perms::owner_all);
  needs_program_ = false;
  EXPECT_EQ(run().out, ran_at(cached()));
}

TEST_P(SshLine, AnotherKindOfMachineIsNamed) {
  const std::string line =
      ssh_line(std::vector<Binary>{{"a-quantum-computer", "ffffffffffffffff", 1}});
  const auto finished =
      process::run({GetParam(), "-c", line}, environment(), std::chrono::seconds(20), "");
  ASSERT_TRUE(finished);
  EXPECT_EQ(finished->out, fmt::format("toprun-login other {}\n", machine_here()));
  EXPECT_EQ(finished->code, 1);
}

TEST_P(SshLine, CorruptIsReplaced) {
  run();
  std::ofstream(cached()) << "half";
  EXPECT_EQ(run().out, needs() + ran_at(cached()));
  EXPECT_EQ(fs::file_size(cached()), program.size());
  const fs::path folder = cached().parent_path();
  EXPECT_EQ(std::distance(fs::directory_iterator(folder), {}), 1) << "a temporary file was left";
}

TEST_P(SshLine, IncompleteIsNotKept) {
  needs_program_ = false;
  const process::Finished finished = run();
  EXPECT_EQ(finished.code, 1);
  EXPECT_EQ(
      finished.out,
      fmt::format("{}toprun-login refused {} the program came incomplete to {}/.cache/toprun\n",
                  needs(), program.size(), home_.path().string()));
  EXPECT_FALSE(fs::exists(cached()));
}

TEST_P(SshLine, ElsewhereWhereHomeHasNoRoom) {
  const std::string home = home_.path();
  for (const std::string& before :
       {fmt::format("mount -t tmpfs -o noexec tmpfs {}", home),
        fmt::format("mount -t tmpfs -o size=4k,nr_inodes=8 tmpfs {0} && head -c 4k /dev/zero "
                    ">{0}/full",
                    home),
        fmt::format("mount -t tmpfs -o ro tmpfs {}", home)}) {
    const process::Finished finished = run(before);
    if (finished.code == 77 || finished.err.starts_with("unshare")) GTEST_SKIP() << finished.err;
    EXPECT_EQ(finished.out,
              needs() + ran_at(fmt::format("/var/tmp/toprun-{}/0123456789abcdef/toprun", user_)))
        << before << finished.err;
    TearDown();
  }
}

TEST_P(SshLine, AFolderThatSomebodyElseMadeIsPassedOver) {
  if (::geteuid() != 0) GTEST_SKIP() << "needs root";
  run();
  ASSERT_EQ(::chown((home_.path() / ".cache/toprun").c_str(), 4711, 4711), 0);
  EXPECT_EQ(run().out,
            needs() + ran_at(fmt::format("/var/tmp/toprun-{}/0123456789abcdef/toprun", user_)));
}

TEST_P(SshLine, NoPlaceAtAll) {
  const process::Finished finished =
      run(fmt::format("mount -t tmpfs -o noexec tmpfs {} && mount -t tmpfs -o ro tmpfs /var/tmp && "
                      "mount -t tmpfs -o ro tmpfs /dev/shm && mount -t tmpfs -o ro tmpfs /tmp",
                      home_.path().string()));
  if (finished.code == 77 || finished.err.starts_with("unshare")) GTEST_SKIP() << finished.err;
  EXPECT_EQ(finished.code, 1);
  EXPECT_TRUE(finished.out.starts_with("toprun-login refused ")) << finished.out;
  EXPECT_NE(finished.out.find(fmt::format("/var/tmp/toprun-{}: Read-only file system", user_)),
            std::string::npos)
      << finished.out;
}

INSTANTIATE_TEST_SUITE_P(Shells, SshLine, testing::Values("sh", "dash", "bash"),
                         [](const auto& shell) { return shell.param; });

TEST(Ssh, Trouble) {
  struct Case {
    std::string_view said, why, fix;
  };
  constexpr Case cases[] = {
      {"ssh: connect to host n3 port 22: Connection timed out\r\n", "connection timed out",
       "is the host up"},
      {"ssh: connect to host n3 port 22: Connection refused", "connection refused", "sshd"},
      {"ssh: connect to host n3 port 22: No route to host", "no route to host", "up"},
      {"ssh: Could not resolve hostname n9: Name or service not known", "no such name", "DNS"},
      {"Welcome!\nroot@n1: Permission denied (publickey,password).\n",
       "permission denied (publickey,password)", "ssh-copy-id HOST"},
      {"root@n1: Permission denied (publickey).", "permission denied (publickey)", "check user"},
      {"@@@@\n@    WARNING: REMOTE HOST IDENTIFICATION HAS CHANGED!     @\nHost key for n1 has "
       "changed and you have requested strict checking.\nHost key verification failed.",
       "its host key has changed", "ssh-keygen -R HOST"},
      {"No ED25519 host key is known for n1 and you have requested strict checking.\nHost key "
       "verification failed.",
       "its host key is not known", "ssh HOST"},
      {"kex_exchange_identification: Connection closed by remote host",
       "kex_exchange_identification: connection closed by remote host", "MaxStartups"},
      {"Connection timed out during banner exchange", "connection timed out during banner exchange",
       "up"},
      {"something new\n", "something new", "try `ssh HOST true`"},
      {"", "ssh ended without a message", "try"},
  };
  for (const auto& [said, why, fix] : cases) {
    const LoginTrouble trouble = ssh_trouble(said);
    EXPECT_EQ(trouble.why, why) << said;
    EXPECT_NE(trouble.fix.find(fix), std::string::npos) << trouble.fix;
  }
}

}  // namespace
}  // namespace toprun::engines
