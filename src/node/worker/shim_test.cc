#include "node/worker/shim.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include <fstream>

#include "base/os/files.h"
#include "base/os/os_testing.h"
#include "base/text/text.h"
#include "node/worker/shim_link.h"
#include "node/worker/worker_testing.h"

namespace toprun::worker {
namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;

// Runs a shim in a separate process, without a container.
class ShimTest : public testing::Test {
 protected:
  void SetUp() override {
    const ShimDoor door = *ShimDoor::open(root_ / "shim");
    shim_ = ::fork();
    if (shim_ == 0) ::_exit(run_shim(root_ / "shim"));
    Fd connection = *door.admit(test_limit);
    const ShimFrame hello = *ShimLink::hear_hello(connection, "n1");
    link_ = std::make_shared<ShimLink>(io_, std::move(connection), hello, "n1");
  }
  void TearDown() override {
    link_.reset();
    if (shim_ > 0) ::waitpid(shim_, nullptr, 0);
  }
  pid_t start(const std::string& script) {
    const Fd null(::open("/dev/null", O_RDWR | O_CLOEXEC));
    spawn::Program program;
    program.argv = {"sh", "-c", script};
    program.environment = {"PATH=/usr/bin:/bin", "ROOT=" + root_.string(), "NOT_UTF8=\xff\xfe"};
    program.stdin_fd = program.stdout_fd = program.stderr_fd = null.get();
    const auto pids = link_->start({program});
    return pids ? pids->front() : -1;
  }
  std::string awaited_file(const std::string& name) const {
    const auto deadline = std::chrono::steady_clock::now() + test_limit;
    while (std::chrono::steady_clock::now() < deadline) {
      const auto text = read_file(root_ / name);
      if (text && text->ends_with('\n')) return *text;
      ::usleep(1000);
    }
    return "no such file";
  }
  Children::Reaped awaited_end() {
    Children::Reaped all;
    const auto deadline = std::chrono::steady_clock::now() + test_limit;
    while (!all.childless && std::chrono::steady_clock::now() < deadline) {
      const auto reaped = link_->reap();
      all.ended.insert(all.ended.end(), reaped.ended.begin(), reaped.ended.end());
      all.childless = reaped.childless;
      ::usleep(1000);
    }
    return all;
  }

  const TemporaryFolder folder_;
  const fs::path root_ = folder_.path();
  boost::asio::io_context io_;
  std::shared_ptr<ShimLink> link_;
  pid_t shim_ = 0;
};

TEST_F(ShimTest, TellsWhatAPathIs) {
  std::ofstream(root_ / "file") << "text";
  fs::permissions(root_ / "file", fs::perms::owner_read | fs::perms::owner_exec);
  const auto seen = *link_->look({root_, root_ / "file", root_ / "nothing"});
  ASSERT_EQ(seen.size(), 3u);
  EXPECT_TRUE(seen[0].exists && seen[0].directory && seen[0].readable);
  EXPECT_TRUE(seen[1].exists && !seen[1].directory && seen[1].executable);
  EXPECT_FALSE(seen[2].exists || seen[2].readable || seen[2].executable || seen[2].writable);
}

TEST_F(ShimTest, RanksBeginInTheFolderThatItEntered) {
  ASSERT_TRUE(link_->enter(root_));
  start("pwd >out");
  EXPECT_EQ(awaited_file("out"), root_.string() + "\n");
  const auto entered = link_->enter("/no/such");
  ASSERT_FALSE(entered);
  EXPECT_EQ(entered.error()->why, "No such file or directory");
}

TEST_F(ShimTest, TellsItsEnvironment) {
  EXPECT_EQ(link_->environment().get("PATH"), std::string(::getenv("PATH")));
}

TEST_F(ShimTest, PassesBytesThatAreNoUtf8) {
  start("printf '%s\\n' \"$NOT_UTF8\" >$ROOT/out");
  EXPECT_EQ(awaited_file("out"), "\xff\xfe\n");
}

TEST_F(ShimTest, RanksOfAShimThatWasKilledAreReportedAsKilled) {
  const pid_t rank = start("echo up >$ROOT/up; exec sleep 1000");
  awaited_file("up");
  testing::internal::CaptureStderr();
  ::kill(shim_, SIGKILL);
  const auto reaped = awaited_end();
  const std::string said = testing::internal::GetCapturedStderr();
  ASSERT_EQ(reaped.ended.size(), 1u);
  EXPECT_EQ(reaped.ended[0].pid, rank);
  EXPECT_TRUE(WIFSIGNALED(reaped.ended[0].status));
  EXPECT_NE(said.find("container on n1: it ended, and its ranks with it"), said.npos) << said;
  EXPECT_TRUE(link_->lost());
  const auto again = link_->look({"/"});
  ASSERT_FALSE(again);
  EXPECT_NE(again.error().line().find("does not answer"), std::string::npos);
}

// A8: these orders run on the event loop's thread.
TEST_F(ShimTest, WhatIsFrozenHoldsNobodyUp) {
  ::kill(shim_, SIGSTOP);
  const auto began = std::chrono::steady_clock::now();
  for (int i = 0; i < 5'000; ++i) {
    link_->signal_all(SIGKILL);
    link_->signal_groups({}, SIGKILL);
  }
  EXPECT_TRUE(link_->describe_all().empty());
  EXPECT_LT(std::chrono::steady_clock::now() - began, 60s);
  ::kill(shim_, SIGCONT);
}

TEST_F(ShimTest, LeavesNothingBehindWhenItsAgentIsGone) {
  start("(setsid sh -c 'trap \"\" TERM; echo $$ >$ROOT/pid; exec sleep 1000' &); exec sleep 1000");
  const auto detached = static_cast<pid_t>(*parse_int(trim(awaited_file("pid"))));
  link_->close();
  int status = -1;
  ASSERT_EQ(::waitpid(std::exchange(shim_, 0), &status, 0) > 0, true);
  EXPECT_EQ(status, 0);
  EXPECT_NE(::kill(detached, 0), 0);
}

TEST_F(ShimTest, EndsAtASignalOfTheEngine) {
  start("echo up >$ROOT/up; exec sleep 1000");
  awaited_file("up");
  ::kill(shim_, SIGTERM);
  EXPECT_EQ(awaited_end().ended.size(), 1u);
}

TEST(ShimWithoutAnAgent, SaysSo) {
  testing::internal::CaptureStderr();
  EXPECT_EQ(run_shim("/no/such/socket"), 1);
  EXPECT_EQ(testing::internal::GetCapturedStderr(),
            "toprun: cannot reach the agent at /no/such/socket from the container: No such file or "
            "directory\n");
}

TEST(ShimDoor, ItsPathMayBeTooLong) {
  const auto door = ShimDoor::open("/tmp/" + std::string(200, 'x'));
  ASSERT_FALSE(door);
  EXPECT_EQ(door.error()->fix, "set TMPDIR to a shorter path");
}

// The bytes that one end of a socket pair receives after the other wrote `bytes`.
std::string received(const std::string& bytes) {
  int ends[2];
  EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
  const Fd reader(ends[0]);
  Fd writer(ends[1]);
  EXPECT_EQ(::write(writer.get(), bytes.data(), bytes.size()), static_cast<ssize_t>(bytes.size()));
  writer.reset();
  const auto frame = receive_frame(reader.get());
  if (!frame) return frame.error().line();
  return *frame ? (*frame)->message.dump() : "end";
}

TEST(ShimWire, ReceivesFramesOnly) {
  using namespace std::string_literals;
  EXPECT_EQ(received(""), "end");
  EXPECT_EQ(received("\0\0"s), "end");
  EXPECT_EQ(received("\0\0\0\x05half"s), "end");
  EXPECT_EQ(received("\0\0\0\x04\xa1\x61x\x01"s), R"({"x":1})");
  EXPECT_EQ(received("\0\0\0\x01\x01"s), "container's shim: it sent no message");
  EXPECT_EQ(received("\0\0\0\x02\xa1\x61"s), "container's shim: it sent no message");
  EXPECT_EQ(received("\0\0\0\x09\x9b\x20\0\x21\0\x0a\x69\x0a\x20"s),
            "container's shim: it sent no message");  // an array of 2^61 elements
  EXPECT_EQ(received("\xff\0\0\0"s), "container's shim: it sent a frame of 4278190080 bytes");
}

TEST(ShimWire, HandsOverDescriptors) {
  int ends[2];
  ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
  const Fd one(ends[0]);
  const Fd other(ends[1]);
  const int given[] = {0, 1, 2};
  ASSERT_TRUE(send_frame(one.get(), {{"x", 1}}, given));
  const auto frame = receive_frame(other.get());
  ASSERT_TRUE(frame && *frame);
  ASSERT_EQ((*frame)->descriptors.size(), 3u);
  for (const Fd& fd : (*frame)->descriptors) EXPECT_GT(fd.get(), 2);
}

TEST(ShimWire, RefusesWhatIsTooLong) {
  const auto sent = send_frame(0, {{"x", std::string(process::largest_frame_bytes, 'x')}});
  ASSERT_FALSE(sent);
  EXPECT_NE(sent.error()->why.find("bytes"), std::string::npos);
}

}  // namespace
}  // namespace toprun::worker
