#include "process/child.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <thread>

#include "process/command.h"

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

// With signal 0 nobody is harmed should one of them go out.
TEST(Child, SignalsReachNoMoreThanOneProcessOrGroup) {
  for (const pid_t pid : {-1, 0, -7}) EXPECT_FALSE(signal_process(pid, 0)) << pid;
  for (const pid_t leader : {1, 0, -1, -7}) EXPECT_FALSE(signal_group(leader, 0)) << leader;
  EXPECT_TRUE(signal_process(::getpid(), 0));
  EXPECT_TRUE(signal_group(::getpgrp(), 0));
}

}  // namespace
}  // namespace toprun::process
