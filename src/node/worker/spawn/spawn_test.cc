#include "node/worker/spawn/spawn.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <functional>
#include <thread>

#include "base/os/files.h"
#include "base/os/os_testing.h"
#include "node/worker/spawn/descendants.h"
#include "node/worker/spawn/spawn_testing.h"

namespace toprun::spawn {
namespace {

// On a thread of its own, whose mounts are its own. What the body started ends when the folder's
// server has gone.
void with_a_hanging_folder(
    const std::function<void(const UnkillableFolder& server, const std::filesystem::path&)>& body) {
  const TemporaryFolder folder;
  std::thread([&] {
    const auto hanging = folder.path() / "hanging";
    {
      const UnkillableFolder server(hanging);
      if (!server.is_mounted()) GTEST_SKIP() << "no file system can be mounted here";
      body(server, hanging);
    }
    while (::waitpid(-1, nullptr, 0) > 0) {
    }
  }).join();
}

TEST(Spawn, DoesNotWaitForAProgramThatTheKernelCannotEnd) {
  with_a_hanging_folder([](const UnkillableFolder&, const std::filesystem::path& hanging) {
    const Fd null(::open("/dev/null", O_RDWR | O_CLOEXEC));
    std::vector<Program> programs(2,
                                  Program{{}, {"program"}, {}, null.get(), null.get(), null.get()});
    programs[0].path = hanging / "program";
    programs[1].path = hanging.parent_path() / "absent";
    int beats = 0;
    const auto started = spawn(programs, Inherited::capture(), "n1", [&] { ++beats; });
    ASSERT_FALSE(started);
    EXPECT_EQ(started.error()->what, fmt::format("cannot run {} on n1", programs[1].path));
    EXPECT_GT(beats, 2);
  });
}

TEST(Descendants, AProcessThatSurvivesItsKillIsDescribedByTheThreadThatHoldsIt) {
  with_a_hanging_folder([](const UnkillableFolder& server, const std::filesystem::path& hanging) {
    const pid_t pid = ::fork();
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
  });
}

}  // namespace
}  // namespace toprun::spawn
