#include "cli/jobs/log_tail.h"

#include <gtest/gtest.h>

#include <fstream>

#include "base/os/os_testing.h"

namespace toprun::jobs {
namespace {

void append(const std::filesystem::path& path, const std::string& text) {
  std::ofstream(path, std::ios::app) << text;
}

std::string read_new(LogTail& tail) {
  std::string text;
  tail.read_new(text);
  return text;
}

TEST(LogTail, GivesWhatIsNewInWholeLines) {
  const TemporaryFolder folder;
  const auto path = folder.path() / "n0.out";
  LogTail tail(path, "n0: ", false);
  EXPECT_EQ(read_new(tail), "");
  append(path, "one\ntw");
  EXPECT_EQ(read_new(tail), "n0: one\n");
  EXPECT_EQ(read_new(tail), "");
  append(path, "o\n\nthree");
  EXPECT_EQ(read_new(tail), "n0: two\nn0: \n");
  EXPECT_EQ(tail.rest(), "n0: three\n");
  EXPECT_EQ(tail.rest(), "");
}

TEST(LogTail, GivesBytesAsTheyComeWhereNobodyElseWrites) {
  const TemporaryFolder folder;
  const auto path = folder.path() / "job.out";
  LogTail tail(path, "", false);
  append(path, "10 %\r20 %");
  EXPECT_EQ(read_new(tail), "10 %\r20 %");
  EXPECT_EQ(tail.rest(), "\n");
  append(path, "30 %\n");
  EXPECT_EQ(read_new(tail), "30 %\n");
  EXPECT_EQ(tail.rest(), "");
}

TEST(LogTail, LeavesOutWhatIsNotWanted) {
  const TemporaryFolder folder;
  const auto path = folder.path() / "job.out";
  LogTail tail(path, "", false, [](std::string_view line) { return line != "two"; });
  append(path, "one\ntwo\nthree\ntwo");
  EXPECT_EQ(read_new(tail), "one\nthree\n");
  EXPECT_EQ(tail.rest(), "");
}

TEST(LogTail, StartsAgainWithAFileThatWasEmptiedOrReplaced) {
  const TemporaryFolder folder;
  const auto path = folder.path() / "job.out";
  LogTail tail(path, "", true);
  append(path, "first\nsecond\n");
  EXPECT_EQ(read_new(tail), "first\nsecond\n");
  std::ofstream(path) << "again\n";
  EXPECT_EQ(read_new(tail), "again\n");
  append(folder.path() / "new", "another file\n");
  std::filesystem::rename(folder.path() / "new", path);
  EXPECT_EQ(read_new(tail), "another file\n");
}

TEST(LogTail, ShowsAnEndlessLineInPieces) {
  const TemporaryFolder folder;
  const auto path = folder.path() / "job.out";
  LogTail tail(path, "n0: ", false);
  append(path, std::string(max_line_bytes + 10, 'x') + "\nend\n");
  EXPECT_EQ(read_new(tail),
            "n0: " + std::string(max_line_bytes, 'x') + "\nn0: xxxxxxxxxx\nn0: end\n");
}

}  // namespace
}  // namespace toprun::jobs
