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

TEST(LastLines, HoldsBackAllButTheLast) {
  const struct {
    std::optional<std::size_t> most;
    std::vector<std::string> parts;
    std::string shown;
  } rows[] = {
      {{}, {"a\nb", "\nc"}, "a\nb\nc"},
      {2, {"a\nb\n", "c\n"}, "b\nc\n"},
      {2, {"a\nb\nc"}, "b\nc"},
      {1, {"a\n", "\n"}, "\n"},
      {3, {"a\nb"}, "a\nb"},
      {1, {"one line"}, "one line"},
      {0, {"a\nb"}, ""},
      {2, {}, ""},
      {2, {"\n\n\n"}, "\n\n"},
      {1, {"\n"}, "\n"},
  };
  for (const auto& row : rows) {
    LastLines last(row.most);
    std::string shown;
    for (const std::string& part : row.parts) shown += last.add(part);
    shown += last.take();
    EXPECT_EQ(shown, row.shown) << testing::PrintToString(row.parts);
  }
}

TEST(LastLines, HoldsNoMoreThanItsLines) {
  LastLines last(1);
  std::string part;
  for (int i = 0; i < 1000; ++i) part += std::string(2000, 'x') + '\n';
  for (int i = 0; i < 3; ++i) EXPECT_EQ(last.add(part), "");
  EXPECT_EQ(last.take(), std::string(2000, 'x') + '\n');
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
