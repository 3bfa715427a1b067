#include "base/os/files.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fstream>

#include "base/os/fd.h"
#include "base/os/os_testing.h"
#include "base/os/trust.h"

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

TEST(Files, ThatAreNotPlainAreNotReplaced) {
  const TemporaryFolder folder;
  const auto pipe = folder.path() / "pipe";
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  const auto refused = replace_file(pipe, "new");
  EXPECT_FALSE(refused);
  EXPECT_TRUE(std::filesystem::is_fifo(pipe));
  EXPECT_EQ(names_in(folder.path()), (std::vector<std::string>{"pipe"}));
}

TEST(Files, ThatTheUserNamedAreReplacedOrWrittenTo) {
  const TemporaryFolder folder;
  const auto plain = folder.path() / "ring.svg";
  ASSERT_TRUE(write_named_file(plain, "new"));
  EXPECT_EQ(read_file(plain), "new");
  const auto pipe = folder.path() / "pipe";
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  const Fd both(::open(pipe.c_str(), O_RDWR | O_CLOEXEC));
  ASSERT_TRUE(write_named_file(pipe, "new"));
  char read_back[4] = {};
  EXPECT_EQ(::read(both.get(), read_back, 3), 3);
  EXPECT_STREQ(read_back, "new");
  EXPECT_TRUE(std::filesystem::is_fifo(pipe));
  EXPECT_FALSE(write_named_file(folder.path(), "new"));
  EXPECT_FALSE(write_named_file(folder.path() / "sub/", "new"));
  EXPECT_FALSE(std::filesystem::exists(folder.path() / "sub"));
  const auto absent = write_named_file(folder.path() / "missing" / "ring.svg", "new");
  ASSERT_FALSE(absent);
  EXPECT_TRUE(absent.error()->what.ends_with("missing/ring.svg")) << absent.error()->what;
}

TEST(Files, OfOthersAreNotReplacedThroughTheirLinks) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root can make links of others";
  const TemporaryFolder folder;
  std::ofstream(folder.path() / "precious") << "old";
  const auto link = folder.path() / "report.json";
  std::filesystem::create_symlink("precious", link);
  ASSERT_EQ(::lchown(link.c_str(), 1000, 1000), 0);
  EXPECT_FALSE(replace_file(link, "new"));
  EXPECT_FALSE(write_through(link, "new"));
  EXPECT_EQ(read_file(folder.path() / "precious"), "old");
  EXPECT_EQ(names_in(folder.path()), (std::vector<std::string>{"precious", "report.json"}));
}

TEST(Files, OfOthersAreNotWrittenTo) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root can make files of others";
  const TemporaryFolder folder;
  const auto file = folder.path() / "report.json";
  std::ofstream(file) << "old";
  ASSERT_EQ(::chown(file.c_str(), 1000, 1000), 0);
  EXPECT_FALSE(write_through(file, "new"));
  EXPECT_EQ(read_file(file), "old");
}

TEST(Files, AreWrittenWhereADescriptorLeads) {
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  const Fd reading(ends[0]);
  Fd writing(ends[1]);
  ASSERT_TRUE(write_through(fmt::format("/proc/self/fd/{}", writing.get()), "new"));
  writing.reset();
  EXPECT_EQ(read_open_file(reading, "pipe", 100), "new");
}

TEST(Files, HaveNamesThatNobodyGuesses) {
  EXPECT_EQ(random_name(12).size(), 12u);
  EXPECT_NE(random_name(), random_name());
}

}  // namespace
}  // namespace toprun
