#include "base/process/disk_space.h"

#include <gtest/gtest.h>

#include "base/os/os_testing.h"

namespace toprun::process {
namespace {

using namespace std::chrono_literals;

TEST(DiskSpace, AsksForAllPathsAtOnce) {
  const TemporaryFolder folder;
  std::filesystem::create_symlink(folder.path(), folder.path() / "link");
  const auto answers =
      disk_space({folder.path(), folder.path() / "link", folder.path() / "missing"}, 10s);
  ASSERT_EQ(answers.size(), 3u);
  ASSERT_TRUE(answers[0].space) << answers[0].trouble;
  EXPECT_GT(answers[0].space->total_bytes, 0u);
  EXPECT_LE(answers[0].space->free_bytes, answers[0].space->total_bytes);
  ASSERT_TRUE(answers[1].space);
  EXPECT_EQ(answers[1].space->real_path, folder.path());
  EXPECT_FALSE(answers[2].space);
  EXPECT_EQ(answers[2].trouble, "No such file or directory");
}

TEST(DiskSpace, DoesNotWaitLongerThanItsLimit) {
  const auto answers = disk_space({"/"}, 0ms);
  ASSERT_EQ(answers.size(), 1u);
  EXPECT_EQ(answers[0].trouble, "no answer within 0 ms");
}

}  // namespace
}  // namespace toprun::process
