#include "node/worker/logs.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>

#include "base/os/os_testing.h"

namespace toprun::worker {
namespace {

namespace fs = std::filesystem;

class LogsTest : public testing::Test {
 protected:
  std::size_t entries() const {
    return static_cast<std::size_t>(std::distance(fs::directory_iterator(root_), {}));
  }

  const TemporaryFolder folder_;
  const fs::path root_ = folder_.path();
};

TEST_F(LogsTest, HaveTorchrunsLayoutAndStay) {
  const std::string log_dir = root_ / "a" / "logs";
  std::string folder;
  {
    const auto logs = Logs::create(log_dir, "job/1", {});
    ASSERT_TRUE(logs);
    EXPECT_TRUE(logs->kept());
    folder = logs->folder();
    EXPECT_TRUE(folder.starts_with(log_dir + "/job_1_"));
    EXPECT_EQ(folder.size(), log_dir.size() + std::string("/job_1_").size() + 8);
    for (const int attempt : {0, 1}) {
      const auto files = logs->worker(attempt, 3);
      ASSERT_TRUE(files);
      const std::string below = fmt::format("{}/attempt_{}/3", folder, attempt);
      EXPECT_EQ(files->stdout_log, below + "/stdout.log");
      EXPECT_EQ(files->stderr_log, below + "/stderr.log");
      EXPECT_EQ(files->error_json, below + "/error.json");
      EXPECT_EQ(logs->filtered_log(attempt, false),
                fmt::format("{}/attempt_{}/filtered_stdout.log", folder, attempt));
      EXPECT_EQ(logs->filtered_log(attempt, true),
                fmt::format("{}/attempt_{}/filtered_stderr.log", folder, attempt));
    }
  }
  EXPECT_EQ(fs::status(folder).permissions(), fs::perms::owner_all);
  EXPECT_TRUE(fs::is_directory(folder + "/attempt_0/3"));
  EXPECT_TRUE(fs::is_directory(folder + "/attempt_1/3"));
}

TEST_F(LogsTest, TemporaryOnesAreForErrorFilesAndGo) {
  {
    const auto logs = Logs::create({}, "job", {{"TMPDIR", root_.string()}});
    ASSERT_TRUE(logs);
    EXPECT_FALSE(logs->kept());
    const auto files = logs->worker(0, 0);
    ASSERT_TRUE(files);
    EXPECT_EQ(files->stdout_log, "");
    EXPECT_EQ(logs->filtered_log(0, false), "");
    EXPECT_EQ(files->error_json, logs->folder() + "/attempt_0/0_error.json");
    const auto next = logs->worker(0, 1);
    ASSERT_TRUE(next);
    EXPECT_EQ(next->nccl_log, logs->folder() + "/attempt_0/1_nccl.log");
    EXPECT_TRUE(fs::is_empty(logs->folder() + "/attempt_0"));
    EXPECT_EQ(entries(), 1u);
  }
  EXPECT_EQ(entries(), 0u);
}

TEST_F(LogsTest, SayWhereTheyCannotBeWritten) {
  const auto logs = Logs::create("/proc/nowhere", "job", {});
  ASSERT_FALSE(logs);
  EXPECT_EQ(logs.error()->exit_code, exit_usage);
  EXPECT_TRUE(logs.error().line().starts_with("cannot write logs to /proc/nowhere: "));
}

}  // namespace
}  // namespace toprun::worker
