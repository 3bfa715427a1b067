#include "spawn/spawn.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <thread>

#include "base/files.h"
#include "base/testing.h"
#include "spawn/descendants.h"
#include "spawn/testing.h"

namespace toprun::spawn {
namespace {

// On a thread of its own: its mounts are its own.
void beside(const std::function<void()>& body) {
  std::thread(body).join();
}

TEST(Spawn, DoesNotWaitForAProgramThatTheKernelCannotEnd) {
  const TemporaryFolder folder;
  beside([&] {
    const auto hanging = folder.path() / "hanging";
    int beats = 0;
    {
      const UnkillableFolder server(hanging);
      if (!server.is_mounted()) GTEST_SKIP() << "no file system can be mounted here";
      const Fd null(::open("/dev/null", O_RDWR | O_CLOEXEC));
      std::vector<Program> programs(
          2, Program{{}, {"program"}, {}, null.get(), null.get(), null.get()});
      programs[0].path = hanging / "program";
      programs[1].path = folder.path() / "absent";
      const auto started = spawn(programs, Inherited::capture(), "n1", [&] { ++beats; });
      ASSERT_FALSE(started);
      EXPECT_EQ(started.error().what, fmt::format("cannot run {} on n1", programs[1].path));
    }
    EXPECT_GT(beats, 2);
    while (::waitpid(-1, nullptr, 0) > 0) {
    }
  });
}

TEST(Descendants, AProcessThatSurvivesItsKillIsDescribedByTheThreadThatHoldsIt) {
  const TemporaryFolder folder;
  beside([&] {
    const auto hanging = folder.path() / "hanging";
    pid_t pid = 0;
    {
      const UnkillableFolder server(hanging);
      if (!server.is_mounted()) GTEST_SKIP() << "no file system can be mounted here";
      pid = ::fork();
      if (pid == 0) {
        std::thread([&] { ::access((hanging / "file").c_str(), F_OK); }).detach();
        for (;;) ::pause();
      }
      const auto has = [&](const std::string& word) {
        return describe_process(pid).find(word) != std::string::npos;
      };
      while (!server.holds_a_request()) std::this_thread::yield();
      ::kill(pid, SIGKILL);
      while (!has("state D") && !has("state Z")) std::this_thread::yield();
      for (int turns = 0; turns < 1000 && !has("state D"); ++turns) ::usleep(1000);
      EXPECT_TRUE(has("state D")) << describe_process(pid);
    }
    ::waitpid(pid, nullptr, 0);
  });
}

}  // namespace
}  // namespace toprun::spawn
