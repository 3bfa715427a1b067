#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>

#include "base/os/fd.h"
#include "base/os/files.h"
#include "base/os/os_testing.h"
#include "node/output/lines.h"
#include "node/output/log_files.h"

namespace toprun::output {
namespace {

namespace fs = std::filesystem;

// The contents of the files after writing the pieces, oldest first.
std::vector<std::string> files_of(std::uint64_t limit_bytes,
                                  const std::vector<std::string>& given) {
  Rotation rotation(limit_bytes);
  std::vector<std::string> files(1);
  for (const std::string& bytes : given) {
    for (const Rotation::Part& part : rotation.add(bytes)) {
      if (part.rotate) {
        std::string& old = files.back();
        std::string carried = old.substr(old.size() - part.carry_bytes);
        old.resize(old.size() - part.carry_bytes);
        files.push_back(std::move(carried));
      }
      files.back() += part.bytes;
    }
  }
  return files;
}

TEST(Rotation, BeginsAFileWithTheLineThatDoesNotFit) {
  struct Case {
    const char* name;
    std::vector<std::string> given;
    std::vector<std::string> files;  // at most 10 bytes each
  };
  const std::vector<Case> cases = {
      {"all fits", {"abc\ndef\ngh"}, {"abc\ndef\ngh"}},
      {"to the byte", {"abcd\nefgh\n", "i\n"}, {"abcd\nefgh\n", "i\n"}},
      {"between two lines", {"abcd\nef\nghijk\n"}, {"abcd\nef\n", "ghijk\n"}},
      {"a line in pieces moves on whole", {"abcd\nef", "ghijk\n"}, {"abcd\n", "efghijk\n"}},
      {"several at once", {"aaaa\nbbbb\ncccc\ndddd\ne"}, {"aaaa\nbbbb\n", "cccc\ndddd\n", "e"}},
      {"a long one is alone",
       {"a\n", "bbbbbbbbbbbbbbb\ncc\n"},
       {"a\n", "bbbbbbbbbbbbbbb\n", "cc\n"}},
      {"a long one in pieces is alone",
       {"a\nbbbbb", "bbbbb", "bbbbb", "b\ncc\n"},
       {"a\n", "bbbbbbbbbbbbbbbb\n", "cc\n"}},
      {"a long first one", {"bbbbbbbbbbbbbbb", "\na\n"}, {"bbbbbbbbbbbbbbb\n", "a\n"}},
      {"progress bars", {"10%\r20%\r", "30%\r", "40%\r"}, {"10%\r20%\r", "30%\r40%\r"}},
      {"\\r\\n stays together", {"abc\r\ndefg\r", "\nh\r\n"}, {"abc\r\n", "defg\r\nh\r\n"}},
      {"nothing", {"", ""}, {""}},
  };
  for (const Case& c : cases) EXPECT_EQ(files_of(10, c.given), c.files) << c.name;
}

TEST(Rotation, LosesNothingWhateverThePieces) {
  std::string all;
  std::uint32_t random = 99;
  const auto next = [&](std::uint32_t below) {
    random = random * 1664525 + 1013904223;
    return (random >> 8) % below;
  };
  for (int i = 0; i < 3000; ++i) {
    all += std::string(next(90), static_cast<char>('a' + i % 26)) + (next(4) == 0 ? "\r\n" : "\n");
  }
  std::vector<std::string> pieces;
  for (std::size_t i = 0; i < all.size(); i += pieces.back().size()) {
    pieces.push_back(all.substr(i, 1 + next(300)));
  }
  std::string joined;
  for (const std::string& file : files_of(100, pieces)) {
    joined += file;
    EXPECT_LE(file.size(), 100u);
    EXPECT_EQ(file.back(), '\n');
  }
  EXPECT_EQ(joined, all);
}

class RotateFilesTest : public testing::Test {
 protected:
  void SetUp() override {
    path_ = root_ / "stdout.log";
    fd_ = Fd(::open(path_.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
  }
  void write(std::string_view text) {
    ASSERT_EQ(::write(fd_.get(), text.data(), text.size()), static_cast<ssize_t>(text.size()));
  }
  std::string content(const std::string& suffix) {
    return read_file(path_ + suffix).value_or("none");
  }

  const TemporaryFolder folder_;
  const fs::path root_ = folder_.path();
  std::string path_;
  Fd fd_;
};

TEST_F(RotateFilesTest, KeepTheYoungestAndMoveTheUnfinishedLine) {
  for (int i = 0; i < 6; ++i) {
    write(fmt::format("file {}\nbegun", i));
    ASSERT_EQ(rotate_files(fd_.get(), path_, 5), 0);
    write("\n");
  }
  EXPECT_EQ(content(""), "begun\n");
  EXPECT_EQ(content(".1"), "begun\nfile 5\n");
  EXPECT_EQ(content(".4"), "begun\nfile 2\n");
  EXPECT_EQ(std::distance(fs::directory_iterator(root_), {}), 1 + Rotation::kept_files);
}

TEST_F(RotateFilesTest, GoOnInTheOldFileIfTheFolderIsGone) {
  write("a\n");
  fs::remove_all(root_);
  EXPECT_EQ(rotate_files(fd_.get(), path_, 0), ENOENT);
  write("b\n");
  EXPECT_EQ(::lseek(fd_.get(), 0, SEEK_END), 4);
}

}  // namespace
}  // namespace toprun::output
