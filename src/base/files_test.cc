#include "base/files.h"

#include <gtest/gtest.h>

#include <fstream>

#include "base/testing.h"

namespace toprun {
namespace {

std::vector<std::string> names_in(const std::filesystem::path& folder) {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    names.push_back(entry.path().filename().string());
  }
  std::ranges::sort(names);
  return names;
}

TEST(Files, ReplacesAFileInOneStep) {
  const TemporaryFolder folder;
  const auto path = folder.path() / "report.json";
  ASSERT_TRUE(replace_file(path, "old\n"));
  std::ifstream reader(path);  // of the old file, which stays whole
  ASSERT_TRUE(replace_file(path, "new\n"));
  std::string line;
  std::getline(reader, line);
  EXPECT_EQ(line, "old");
  EXPECT_EQ(read_file(path), "new\n");
  EXPECT_EQ(names_in(folder.path()), (std::vector<std::string>{"report.json"}));
}

TEST(Files, ReplacesWhatALinkPointsTo) {
  const TemporaryFolder folder;
  std::ofstream(folder.path() / "target") << "old";
  std::filesystem::create_symlink("target", folder.path() / "link");
  ASSERT_TRUE(replace_file(folder.path() / "link", "new"));
  EXPECT_TRUE(std::filesystem::is_symlink(folder.path() / "link"));
  EXPECT_EQ(read_file(folder.path() / "target"), "new");
}

TEST(Files, ChangesNothingWhereItCannotReplace) {
  const TemporaryFolder folder;
  EXPECT_FALSE(replace_file(folder.path() / "missing" / "report.json", "new"));
  std::filesystem::create_directory(folder.path() / "report.json");
  EXPECT_FALSE(replace_file(folder.path() / "report.json", "new"));
  EXPECT_EQ(names_in(folder.path()), (std::vector<std::string>{"report.json"}));
}

}  // namespace
}  // namespace toprun
