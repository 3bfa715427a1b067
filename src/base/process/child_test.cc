#include "base/process/child.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <thread>

#include "base/process/command.h"

namespace toprun::process {
namespace {

using namespace std::chrono_literals;

const Environment path = {{"PATH", "/usr/bin:/bin"}};

// An agent reaps whatever ends; the commands of its other threads keep their codes.
TEST(Child, ACommandKeepsItsCodeBesideOneWhoReapsAll) {
  std::atomic<bool> done = false;
  std::thread reaper([&] {
    while (!done) {
      int status = 0;
      reap_any(status);
    }
  });
  for (int i = 0; i < 200; ++i) {
    const auto finished = run({"sh", "-c", "echo said; exit 7"}, path, 60s);
    ASSERT_TRUE(finished) << finished.error().line();
    EXPECT_EQ(finished->code, 7);
    EXPECT_EQ(finished->out, "said\n");
  }
  done = true;
  reaper.join();
}

TEST(Child, ACommandGetsNoDescriptorOfOurs) {
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);  // inherited, as Asio's sockets are
  const Fd reading(ends[0]);
  const Fd writing(ends[1]);
  const auto finished = run({"sh", "-c", "readlink /proc/self/fd/*"}, path, 60s);
  ASSERT_TRUE(finished) << finished.error().line();
  std::array<char, 64> name{};
  ASSERT_GT(::readlink(fmt::format("/proc/self/fd/{}", ends[1]).c_str(), name.data(), name.size()),
            0);
  EXPECT_EQ(finished->out.find(name.data()), std::string::npos) << finished->out;
}

// A handler in the child would write to a pipe that it shares with this process.
TEST(Child, AQuietForkRunsNoHandlerOfOurs) {
  static int ends[2];
  ASSERT_EQ(::pipe2(ends, O_CLOEXEC | O_NONBLOCK), 0);
  const Fd reading(ends[0]);
  const Fd writing(ends[1]);
  const auto former = ::signal(SIGUSR1, [](int) {
    if (::write(ends[1], "x", 1) != 1) ::abort();
  });
  const pid_t child = fork_with_signals_blocked();
  if (child == 0) {
    sigset_t waiting;
    do {
      ::sigpending(&waiting);
    } while (::sigismember(&waiting, SIGUSR1) == 0);
    ::_exit(0);
  }
  signal_process(child, SIGUSR1);
  int status = -1;
  EXPECT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  char byte = 0;
  EXPECT_EQ(::read(ends[0], &byte, 1), -1) << "the child's handler wrote it";
  ::signal(SIGUSR1, former);
}

TEST(Child, OthersAreReapedByAnybody) {
  const pid_t pid = ::fork();
  if (pid == 0) ::_exit(3);
  int status = 0;
  pid_t ended = 0;
  while ((ended = reap_any(status)) == 0) {
  }
  EXPECT_EQ(ended, pid);
  EXPECT_EQ(exit_code(status), 3);
  EXPECT_EQ(reap_any(status), -1);
}

// With signal 0 no process is harmed should one of them go out.
TEST(Child, SignalsReachNoMoreThanOneProcessOrGroup) {
  for (const pid_t pid : {-1, 0, -7}) EXPECT_FALSE(signal_process(pid, 0)) << pid;
  for (const pid_t leader : {1, 0, -1, -7}) EXPECT_FALSE(signal_group(leader, 0)) << leader;
  EXPECT_TRUE(signal_process(::getpid(), 0));
  EXPECT_TRUE(signal_group(::getpgrp(), 0));
}

}  // namespace
}  // namespace toprun::process
