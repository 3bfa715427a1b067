#include "node/worker/keeper.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>

#include <boost/asio/signal_set.hpp>

#include "base/net/address.h"
#include "base/os/fd.h"
#include "base/os/files.h"
#include "base/os/os_testing.h"
#include "base/text/text.h"
#include "node/worker/worker_testing.h"
#include "node/worker/workers.h"

namespace toprun::worker {
namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;

template <class Condition>
bool eventually(Condition condition) {
  const auto deadline = std::chrono::steady_clock::now() + test_limit;
  while (!condition()) {
    if (std::chrono::steady_clock::now() > deadline) return false;
    ::usleep(2000);
  }
  return true;
}

// Whether the process runs; a zombie does not, because this test does not check its reaping.
bool runs(pid_t pid) {
  const auto stat = read_file(fmt::format("/proc/{}/stat", pid));
  return stat && stat->find(") Z ") == std::string::npos;
}

// Runs a worker with a grandchild in a separate session; SIGTERM stops them.
int agent_with_workers(int heartbeat_fd, const spawn::Inherited& inherited,
                       const std::string& root) {
  boost::asio::io_context io;
  WorkerPlan plan;
  plan.argv = {"/bin/sh", "-c",
               "echo $PPID > $ROOT/agent; echo $$ > $ROOT/worker; "
               "(setsid sh -c 'trap \"\" TERM; echo $$ > $ROOT/grandchild; exec sleep 1000' &); "
               "exec sleep 1000"};
  plan.environment = {{"PATH", "/usr/bin:/bin"}, {"ROOT", root}};
  output::OutputPlan output;
  output.console = std::make_shared<output::Terminal>(io, output::ConsoleDescriptors{}, false);
  Workers workers(io, own_children(io, inherited, "n1"), "n1", {plan}, {{}, [&] { io.stop(); }},
                  output);
  boost::asio::signal_set signals(io, SIGTERM, SIGUSR1);
  int exit_code = 0;
  signals.async_wait([&](const boost::system::error_code&, int signal) {
    exit_code = signal;
    workers.stop(100ms);
  });
  boost::asio::steady_timer beat(io);
  const std::function<void()> pulse = [&] {
    if (::write(heartbeat_fd, "", 1) < 0) return;
    beat.expires_after(50ms);
    beat.async_wait([&](const boost::system::error_code& error) {
      if (!error) pulse();
    });
  };
  pulse();
  if (!workers.start()) return exit_failure;
  io.run();
  return exit_code;
}

// Runs a keeper in a child process, like main.
class KeeperTest : public testing::Test {
 protected:
  void TearDown() override {
    for (const pid_t pid : started_) ::kill(pid, SIGKILL);
    if (keeper_ > 0) ::waitpid(keeper_, nullptr, 0);
  }

  void keep_in_child(const std::function<int(int)>& agent,
                     std::chrono::milliseconds stall_limit = keeper_stall_limit) {
    keeper_ = ::fork();
    if (keeper_ == 0) {
      const Fd err(::open((root_ / "err").c_str(), O_WRONLY | O_CREAT, 0600));
      ::dup2(err.get(), STDERR_FILENO);
      ::_exit(keep(agent, stall_limit));
    }
  }
  void keep_workers(std::chrono::milliseconds stall_limit = keeper_stall_limit) {
    const spawn::Inherited inherited = spawn::Inherited::capture();
    keep_in_child([&](int fd) { return agent_with_workers(fd, inherited, root_.string()); },
                  stall_limit);
    for (const char* name : {"agent", "worker", "grandchild"}) {
      ASSERT_TRUE(eventually([&] { return text(name).ends_with("\n"); })) << name;
      pids_[name] = static_cast<pid_t>(parse_int(trim(text(name))).value_or(0));
      ASSERT_GT(pids_[name], 1);
      started_.push_back(pids_[name]);
    }
  }
  std::string text(const std::string& name) const { return read_file(root_ / name).value_or(""); }
  // The keeper's exit code, or 128 + n if signal n ended it.
  int await_keeper() {
    int status = 0;
    EXPECT_TRUE(eventually([&] { return ::waitpid(keeper_, &status, WNOHANG) == keeper_; }));
    keeper_ = 0;
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  }
  void expect_all_gone() {
    for (const auto& [name, pid] : pids_) {
      EXPECT_TRUE(eventually([&] { return !runs(pid); })) << name;
    }
  }

  const TemporaryFolder folder_;
  const fs::path root_ = folder_.path();
  pid_t keeper_ = 0;
  std::map<std::string, pid_t> pids_;
  std::vector<pid_t> started_;
};

TEST_F(KeeperTest, PassesOnWhatConcernsTheAgent) {
  keeper_ = ::fork();
  if (keeper_ == 0) {
    const auto agent = [&](int) {
      boost::asio::io_context io;
      boost::asio::signal_set signals(io, SIGUSR1, SIGUSR2);
      [[maybe_unused]] const auto written = replace_file(root_ / "ready", "\n");
      int taken = 0;
      signals.async_wait([&](const boost::system::error_code&, int signal) { taken = signal; });
      io.run();
      return taken;
    };
    ::_exit(keep(agent, keeper_stall_limit, {}, [](int signal, pid_t sender) {
      return signal != SIGUSR1 || sender != ::getppid();
    }));
  }
  ASSERT_TRUE(eventually([&] { return text("ready") == "\n"; }));
  ::kill(keeper_, SIGUSR1);
  ::kill(keeper_, SIGUSR2);
  EXPECT_EQ(await_keeper(), SIGUSR2);
}

TEST_F(KeeperTest, ReturnsTheAgentsCode) {
  keep_in_child([](int) { return 42; });
  EXPECT_EQ(await_keeper(), 42);
  EXPECT_EQ(text("err"), "");
}

TEST_F(KeeperTest, ForwardsSignals) {
  if (emulated()) GTEST_SKIP() << "an emulator has no PR_SET_CHILD_SUBREAPER";
  keep_workers();
  ::kill(keeper_, SIGUSR1);
  EXPECT_EQ(await_keeper(), SIGUSR1);
  expect_all_gone();
}

TEST_F(KeeperTest, KilledItselfTheAgentStopsAll) {
  if (emulated()) GTEST_SKIP() << "an emulator has no PR_SET_CHILD_SUBREAPER";
  keep_workers();
  ::kill(keeper_, SIGKILL);
  EXPECT_EQ(await_keeper(), 128 + SIGKILL);
  expect_all_gone();
}

TEST_F(KeeperTest, AKilledAgentLeavesNothing) {
  keep_workers();
  ::kill(pids_["agent"], SIGKILL);
  EXPECT_EQ(await_keeper(), exit_failure);
  expect_all_gone();
  EXPECT_EQ(
      text("err"),
      fmt::format("toprun: {}: the agent (pid {}) was killed by signal 9 (Killed), so all its "
                  "ranks were killed; if you did not send this signal, look for the "
                  "out-of-memory killer in dmesg\n",
                  hosts::host_name(), pids_["agent"]));
}

TEST_F(KeeperTest, AStoppedAgentIsAStall) {
  keep_workers(500ms);
  ::kill(pids_["agent"], SIGSTOP);
  EXPECT_EQ(await_keeper(), exit_failure);
  expect_all_gone();
  EXPECT_EQ(text("err"),
            fmt::format(
                "toprun: {}: the agent (pid {}) gave no sign of life for 500 ms, so it and all its "
                "ranks were killed; was it stopped by a signal or a debugger?\n",
                hosts::host_name(), pids_["agent"]));
}

TEST_F(KeeperTest, ItsOwnAbsenceIsNoStall) {
  keep_workers(3000ms);
  // Stops both for longer than the limit, like a frozen machine.
  ::kill(keeper_, SIGSTOP);
  ::kill(pids_["agent"], SIGSTOP);
  ::usleep(3'500'000);
  ::kill(keeper_, SIGCONT);
  ::kill(pids_["agent"], SIGCONT);
  ::kill(keeper_, SIGUSR1);
  EXPECT_EQ(await_keeper(), SIGUSR1);
  EXPECT_EQ(text("err"), "");
}

TEST_F(KeeperTest, RemovesTheFolderOfAKilledAgent) {
  const fs::path folder = root_ / "temporary";
  keep_in_child([&](int) {
    fs::create_directories(folder / "below");
    keeper_removes(folder.string());
    ::raise(SIGKILL);
    return 0;
  });
  EXPECT_EQ(await_keeper(), exit_failure);
  EXPECT_FALSE(fs::exists(folder));
}

TEST_F(KeeperTest, ASignalBeforeTheAgentHandlesIt) {
  keep_in_child([&](int) {
    ::pause();
    return 0;
  });
  ASSERT_TRUE(eventually([&] { return !text("err").empty() || fs::exists(root_ / "err"); }));
  ::kill(keeper_, SIGTERM);
  EXPECT_EQ(await_keeper(), 128 + SIGTERM);
  EXPECT_EQ(text("err"), "");
}

// In its last microseconds the agent has its handlers no more.
TEST_F(KeeperTest, AForwardedSignalThatNothingHandlesAnyMore) {
  keep_in_child([&](int heartbeat_fd) -> int {
    static const std::string queued = (root_ / "queued").string();
    struct sigaction action {};
    action.sa_handler = [](int) { ::mkdir(queued.c_str(), 0700); };
    ::sigaction(queued_signal(), &action, nullptr);
    if (::write(heartbeat_fd, &beat_of_queue, 1) != 1) return exit_failure;
    fs::create_directory(root_ / "handled");
    while (!fs::exists(queued)) ::usleep(1000);
    sigset_t one;
    ::sigemptyset(&one);
    ::sigaddset(&one, queued_signal());
    ::sigprocmask(SIG_BLOCK, &one, nullptr);
    ::signal(queued_signal(), SIG_DFL);
    fs::create_directory(root_ / "default");
    ::sigprocmask(SIG_UNBLOCK, &one, nullptr);  // the keeper may have queued more than one
    for (;;) ::pause();
  });
  // Before that the keeper may not have blocked the signal, which would end it.
  ASSERT_TRUE(eventually([&] { return fs::exists(root_ / "handled"); }));
  ASSERT_TRUE(eventually([&] {
    const bool is_queued = fs::exists(root_ / "queued");
    if (!is_queued) ::kill(keeper_, SIGUSR1);  // ignored, until the keeper queues it
    return is_queued && fs::exists(root_ / "default");
  }));
  ::kill(keeper_, SIGTERM);
  const int code = await_keeper();
  EXPECT_TRUE(code == 128 + SIGTERM || code == 128 + SIGUSR1) << code;
  EXPECT_EQ(text("err"), "");
}

TEST_F(KeeperTest, TheCodeThatTheAgentTold) {
  for (const int last : {SIGKILL, SIGTERM, SIGRTMIN}) {
    SCOPED_TRACE(last);
    keep_in_child([&](int) {
      tell_keeper_of_code(7);
      ::raise(last);
      return 0;
    });
    EXPECT_EQ(await_keeper(), 7);
    EXPECT_EQ(text("err"), "");
  }
}

// As one that the kernel cannot end; in truth a file server holds it (tests/hanging_test.py).
TEST_F(KeeperTest, AnAgentThatHasToldItsCodeIsNotWaitedFor) {
  keep_in_child([&](int) -> int {
    tell_keeper_of_code(7);
    for (;;) ::pause();
  });
  EXPECT_EQ(await_keeper(), 7);
}

}  // namespace
}  // namespace toprun::worker
