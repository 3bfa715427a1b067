#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/wait.h>

#include <algorithm>
#include <atomic>
#include <future>
#include <optional>
#include <thread>

#include <boost/asio/post.hpp>

#include "base/os/fd.h"
#include "base/os/os_testing.h"
#include "base/process/child.h"
#include "base/process/command.h"
#include "base/process/process_tree.h"
#include "node/worker/children.h"
#include "node/worker/worker_testing.h"

namespace toprun::worker {
namespace {

class OwnChildrenTest : public testing::Test {
 protected:
  // Starts a child that ends and is not reaped.
  void SetUp() override {
    const Fd null(::open("/dev/null", O_RDWR | O_CLOEXEC));
    spawn::Program program;
    program.argv = {"true"};
    program.environment = {"PATH=/usr/bin:/bin"};
    program.stdin_fd = program.stdout_fd = program.stderr_fd = null.get();
    children_->on_change = [this] { ++changes_; };
    const auto pids = children_->start({program});
    ASSERT_TRUE(pids);
    children_->watch();
    siginfo_t info{};
    ASSERT_EQ(::waitid(P_PID, static_cast<id_t>(pids->front()), &info, WEXITED | WNOWAIT), 0);
  }
  void TearDown() override {
    while (::waitpid(-1, nullptr, WNOHANG) > 0) {
    }
  }

  boost::asio::io_context io_;
  std::unique_ptr<Children> children_ = own_children(io_, spawn::Inherited::capture(), "n1");
  int changes_ = 0;
};

TEST_F(OwnChildrenTest, TellsOfAnEnd) {
  while (changes_ == 0 && io_.run_one_for(std::chrono::seconds(10)) != 0) {
  }
  EXPECT_EQ(changes_, 1);
  EXPECT_EQ(children_->reap().ended.size(), 1u);
  EXPECT_TRUE(children_->reap().childless);
}

// An engine's signal comes to a rank a moment before it comes to this process.
TEST_F(OwnChildrenTest, WaitsForTheSignalThatEndedARankToComeHereToo) {
  children_->reap();
  for (const auto& [signal, is_reported_at_once] : {std::pair(SIGKILL, true), {SIGTERM, false}}) {
    io_.restart();
    io_.poll();
    changes_ = 0;
    const pid_t child = ::fork();
    if (child == 0) ::pause();
    ::kill(child, signal);
    siginfo_t info{};
    ASSERT_EQ(::waitid(P_PID, static_cast<id_t>(child), &info, WEXITED | WNOWAIT), 0);
    io_.poll();
    EXPECT_EQ(changes_ > 0, is_reported_at_once) << signal;
    while (changes_ == 0 && io_.run_one_for(std::chrono::seconds(10)) != 0) {
    }
    EXPECT_EQ(children_->reap().ended.size(), 1u);
  }
}

// As --notify and nvidia-smi run while ranks end.
TEST_F(OwnChildrenTest, LeavesAloneWhatThisProcessRunsForItself) {
  const Environment environment({{"PATH", "/usr/bin:/bin"}});
  Result<process::Finished> finished;
  std::thread command([&] {
    finished = process::run({"sh", "-c", "cat; sleep 0.3; exit 7"}, environment,
                            std::chrono::seconds(60), "read");
  });
  while (process::running_commands().empty()) std::this_thread::yield();
  EXPECT_EQ(children_->reap().ended.size(), 1u);
  EXPECT_TRUE(children_->reap().childless);
  EXPECT_TRUE(children_->describe_all().empty());
  children_->signal_all(SIGKILL);
  command.join();
  ASSERT_TRUE(finished);
  EXPECT_EQ(finished->code, 7);
  EXPECT_EQ(finished->out, "read");
}

// As --notify, which begins just when the others are killed.
TEST_F(OwnChildrenTest, LeavesAloneWhatThisProcessIsStarting) {
  const Environment environment({{"PATH", "/usr/bin:/bin"}});
  std::atomic<bool> done = false;
  std::vector<int> codes;
  std::thread commands([&] {
    for (int i = 0; i < 200; ++i) {
      const auto finished = process::run({"true"}, environment, std::chrono::seconds(60));
      codes.push_back(finished ? finished->code : -1);
    }
    done = true;
  });
  for (; !done; std::this_thread::sleep_for(std::chrono::milliseconds(1))) {
    children_->signal_all(SIGKILL);
  }
  commands.join();
  EXPECT_EQ(codes, std::vector<int>(200, 0));
}

// As --notify on a file system that is slow.
TEST_F(OwnChildrenTest, LeavesAloneACommandWhoseProgramHangs) {
  const TemporaryFolder folder;
  const auto hanging = folder.path() / "hanging";
  const Fd server = mount_hanging_folder(hanging);
  if (!server) GTEST_SKIP() << "no file system can be mounted here";
  auto command = std::async(
      std::launch::async, [&] { return process::start(hanging / "program", {"program"}, {}, {}); });
  const auto is_done = [&] {
    return command.wait_for(std::chrono::seconds(0)) == std::future_status::ready;
  };
  const auto waits_for_its_program = [](pid_t pid) { return process::is_copy(pid, ::getpid()); };
  while (std::ranges::none_of(process::children_of(::getpid()), waits_for_its_program) &&
         !is_done()) {
    std::this_thread::yield();
  }
  for (int i = 0; i < 20; ++i) children_->signal_all(SIGKILL);
  EXPECT_FALSE(is_done());
  ::umount2(hanging.c_str(), MNT_FORCE);  // what waits for it fails
  EXPECT_FALSE(command.get()) << "it was killed";
  ::umount2(hanging.c_str(), MNT_DETACH);
}

// Runs `action` after `turns` turns of the loop. The SIGCHLD handler waits in the loop's queue, so
// one of the tested values runs `action` just before the handler.
void after_turns(boost::asio::io_context& io, int turns, const std::function<void()>& action) {
  boost::asio::post(io, [&io, turns, action] {
    if (turns == 0) return action();
    after_turns(io, turns - 1, action);
  });
}

class Queued : public OwnChildrenTest, public testing::WithParamInterface<int> {};

TEST_P(Queued, IsSilentOnceNobodyWatches) {
  std::optional<int> changes_before;
  after_turns(io_, GetParam(), [&] {
    children_->unwatch();
    changes_before = changes_;
  });
  io_.run_for(std::chrono::milliseconds(50));
  EXPECT_EQ(changes_, changes_before);
}

TEST_P(Queued, IsNotTouchedAfterItsEnd) {
  std::optional<int> changes_before;
  after_turns(io_, GetParam(), [&] {
    children_.reset();
    changes_before = changes_;
  });
  io_.run_for(std::chrono::milliseconds(50));
  EXPECT_EQ(changes_, changes_before);
}

INSTANTIATE_TEST_SUITE_P(Turns, Queued, testing::Range(0, 4));

}  // namespace
}  // namespace toprun::worker
