#include "node/worker/spawn/view.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "base/os/files.h"
#include "base/os/os_testing.h"
#include "node/worker/spawn/spawn.h"

namespace toprun::spawn {
namespace {

#ifdef __SANITIZE_THREAD__
constexpr bool under_thread_sanitizer = true;
#else
constexpr bool under_thread_sanitizer = false;
#endif

struct ViewTest : testing::Test {
  void SetUp() override {
    if (under_thread_sanitizer) {
      GTEST_SKIP() << "its thread is in every child, and a process of several threads cannot enter "
                      "other mounts";
    }
  }
  ViewTest() {
    for (const char* name : {"shown", "env"}) {
      std::filesystem::create_directory(folder.path() / name);
      std::ofstream(folder.path() / name / "file") << name;
    }
  }
  std::string path(const char* name) const { return folder.path() / name; }

  // What a shell prints that is started in the view.
  std::string output_of(std::shared_ptr<const View> view, const std::string& script) {
    const std::string text = path("output");
    const Fd out(::open(text.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600));
    const Fd null(::open("/dev/null", O_RDONLY | O_CLOEXEC));
    Program program;
    program.path = "/bin/sh";
    program.argv = {"sh", "-c", script};
    program.stdin_fd = null.get();
    program.stdout_fd = program.stderr_fd = out.get();
    program.view = std::move(view);
    const auto pids = spawn({&program, 1}, Inherited::capture(), "n1");
    EXPECT_TRUE(pids) << pids.error().line();
    if (pids) ::waitpid(pids->front(), nullptr, 0);
    return *read_file(text);
  }

  const TemporaryFolder folder;
};

TEST_F(ViewTest, ShowsAnotherFolderAtThePath) {
  const auto view = View::make(path("shown"), path("env"));
  if (!view) GTEST_SKIP() << view.error().line();
  EXPECT_EQ(output_of(*view, "cat " + path("env/file")), "shown");
  EXPECT_EQ(output_of(nullptr, "cat " + path("env/file")), "env");
  EXPECT_EQ(output_of(*view, "pwd; id -u"), output_of(nullptr, "pwd; id -u"));
  EXPECT_NE(output_of(*view, "echo new > " + path("env/file")).find("Read-only file system"),
            std::string::npos);
  EXPECT_EQ(*read_file(path("shown/file")), "shown");
}

TEST_F(ViewTest, ShowsAnotherFileAtThePath) {
  const auto view = View::make(path("shown/file"), path("env/file"));
  if (!view) GTEST_SKIP() << view.error().line();
  EXPECT_EQ(output_of(*view, "cat " + path("env/file")), "shown");
}

TEST_F(ViewTest, AUserWithoutRightsHasOneToo) {
  if (::geteuid() != 0) GTEST_SKIP() << "for root, who can become a user";
  std::filesystem::permissions(folder.path(), std::filesystem::perms(0755));
  const pid_t pid = ::fork();
  if (pid == 0) {
    // The folder of the call may be one that only root may enter.
    if (::chdir("/") != 0 || ::setgid(12345) != 0 || ::setuid(12345) != 0) ::_exit(1);
    ::prctl(PR_SET_DUMPABLE, 1);  // as a user's own processes are
    const auto view = View::make(path("shown"), path("env"));
    if (!view) ::_exit(view.error().line().find("user namespaces") != std::string::npos ? 77 : 2);
    const pid_t child = ::fork();
    if (child == 0) {
      if (!(*view)->enter() || ::geteuid() != 12345) ::_exit(3);
      const auto text = read_file(path("env/file"));
      ::_exit(text && *text == "shown" ? 0 : 4);
    }
    int status = 0;
    ::waitpid(child, &status, 0);
    ::_exit(WEXITSTATUS(status));
  }
  int status = 0;
  ::waitpid(pid, &status, 0);
  if (WEXITSTATUS(status) == 77) GTEST_SKIP() << "no user namespaces here";
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

TEST_F(ViewTest, SaysWhatIsMissing) {
  const auto view = View::make(path("shown"), path("none"));
  ASSERT_FALSE(view);
  EXPECT_NE(view.error().line().find("/none: No such file or directory"), std::string::npos);
}

}  // namespace
}  // namespace toprun::spawn
