#include <gtest/gtest.h>

#include <filesystem>

#include "base/os/os_testing.h"
#include "base/os/trust.h"

namespace toprun {
namespace {

namespace fs = std::filesystem;

TEST(PrivateFolder, IsNewAndNobodyElses) {
  const TemporaryFolder folder;
  const Environment environment = {{"TMPDIR", folder.path().string()}};
  const std::string one = new_temporary_folder(environment, "logs");
  const std::string other = new_temporary_folder(environment, "logs");
  EXPECT_TRUE(one.starts_with(folder.path().string() + "/logs_"));
  EXPECT_NE(one, other);
  EXPECT_EQ(fs::status(one).permissions(), fs::perms::owner_all);
}

TEST(PrivateFolder, TellsWhyThereIsNone) {
  EXPECT_EQ(new_private_folder("/no/such", "logs"), std::unexpected(ENOENT));
}

TEST(PrivateFolder, IsNotLeftByALink) {
  const TemporaryFolder folder;
  const std::string path = folder.path() / "out";
  EXPECT_TRUE(open_without_links(path));
  fs::create_symlink("out", folder.path() / "link");
  EXPECT_FALSE(open_without_links(folder.path() / "link"));
  fs::create_directory(folder.path() / "far");
  fs::create_directory_symlink("far", folder.path() / "near");
  EXPECT_FALSE(open_without_links(folder.path() / "near/out"));
}

}  // namespace
}  // namespace toprun
