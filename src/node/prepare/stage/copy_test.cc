#include "node/prepare/stage/copy.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/os/os_testing.h"
#include "node/prepare/stage/scan.h"
#include "node/prepare/stage/stage_testing.h"

namespace toprun::stage {
namespace {

struct CopyTest : testing::Test {
  CopyTest() {
    make_environment(environment);
    std::filesystem::create_directory(base);
  }

  void read() {
    auto scanned = scan(environment, nullptr);
    ASSERT_TRUE(scanned) << scanned.error().line();
    manifest = std::make_shared<const Manifest>(scanned->stamped.manifest);
    digest = hash_of(manifest->encode());
  }
  Copy begin() {
    auto begun = Copy::begin(*cache, key_of(environment), manifest, digest);
    EXPECT_TRUE(begun) << begun.error().line();
    return *std::move(begun);
  }
  // Writes what is missing, at most so many chunks; returns how many it wrote.
  std::size_t fill(Copy& copy, std::size_t most = most_chunks) {
    const auto source = scan(environment, nullptr);
    std::size_t written = 0;
    for (std::uint32_t chunk = 0; chunk < manifest->hashes.size() && written < most; ++chunk) {
      if (copy.is_there()[chunk]) continue;
      const std::size_t i = manifest->entry_of(chunk);
      const Entry& entry = manifest->entries[i];
      const std::string text = *read_file(environment / manifest->path_of(i));
      const std::size_t at = (chunk - entry.first_chunk) * chunk_bytes;
      EXPECT_TRUE(copy.write(chunk, text.substr(at, manifest->chunk_size(entry, chunk))));
      ++written;
    }
    return written;
  }
  // A whole copy; returns how many chunks it took.
  std::size_t make() {
    read();
    Copy copy = begin();
    if (copy.is_whole()) return 0;
    const std::size_t written = fill(copy);
    const auto finished = copy.finish();
    EXPECT_TRUE(finished) << finished.error().line();
    path = copy.path();
    EXPECT_EQ(seen(path), seen(environment));
    return written;
  }

  const TemporaryFolder temporary;
  const std::filesystem::path environment = temporary.path() / "env";
  const std::filesystem::path base = temporary.path() / "base";
  const std::optional<CopyCache> cache = [this] {
    std::filesystem::create_directory(base);
    auto opened = CopyCache::open(base);
    EXPECT_TRUE(opened) << opened.error().line();
    return std::optional(*std::move(opened));
  }();
  std::shared_ptr<const Manifest> manifest;
  Hash digest{};
  std::filesystem::path path;
};

TEST_F(CopyTest, IsLikeTheEnvironment) {
  EXPECT_GT(make(), 40u);
  EXPECT_EQ(make(), 0u);
}

TEST_F(CopyTest, OfOneFile) {
  const std::filesystem::path image = temporary.path() / "image.sqsh";
  write(image, content(3 * chunk_bytes, 'i'));
  auto scanned = scan(image, nullptr);
  ASSERT_TRUE(scanned);
  manifest = std::make_shared<const Manifest>(scanned->stamped.manifest);
  Copy copy = begin();
  const std::string text = *read_file(image);
  for (std::uint32_t chunk = 0; chunk < 3; ++chunk) {
    ASSERT_TRUE(copy.write(chunk, text.substr(chunk * chunk_bytes, chunk_bytes)));
  }
  ASSERT_TRUE(copy.finish());
  EXPECT_EQ(seen(copy.path()), seen(image));
}

TEST_F(CopyTest, TakesOnlyWhatChanged) {
  make();
  write(environment / "lib/m/7.py", "changed");
  write(environment / "lib/new.py", "new");
  std::filesystem::remove(environment / "lib/m/8.py");
  EXPECT_EQ(make(), 2u);
  // The other version is gone, since no job uses it.
  std::size_t copies = 0;
  for (const auto& item : std::filesystem::directory_iterator(cache->path())) {
    copies += item.is_directory();
  }
  EXPECT_EQ(copies, 1u);
}

TEST_F(CopyTest, NeedsNothingOfAFileThatWasOnlyTouched) {
  make();
  const timespec times[] = {{1'000'000'000, 7}, {1'000'000'000, 7}};
  ::utimensat(AT_FDCWD, (environment / "lib/large.so").c_str(), times, 0);
  ::chmod((environment / "lib/m/3.py").c_str(), 0600);
  EXPECT_EQ(make(), 0u);
}

TEST_F(CopyTest, OneThatAJobUsesStaysAsItWas) {
  make();
  const Copy used = begin();
  ASSERT_TRUE(used.is_whole());
  const auto before = seen(used.path());
  write(environment / "lib/large.so", content(5 * chunk_bytes / 2, 'n'));
  EXPECT_EQ(make(), 3u);
  EXPECT_NE(path, used.path());
  EXPECT_EQ(seen(used.path()), before);
}

TEST_F(CopyTest, ChangesInACopyAreSeen) {
  make();
  struct stat status {};
  ::lstat((path / "lib/large.so").c_str(), &status);
  {
    std::fstream file(path / "lib/large.so", std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(chunk_bytes + 3);
    file << "!";
  }
  const timespec times[] = {status.st_mtim, status.st_mtim};  // the writer hides it
  ::utimensat(AT_FDCWD, (path / "lib/large.so").c_str(), times, 0);
  std::filesystem::remove(path / "lib/m/3.py");
  EXPECT_EQ(make(), 2u);
}

TEST_F(CopyTest, GoesOnWhereItWasLeft) {
  read();
  {
    Copy copy = begin();
    EXPECT_EQ(fill(copy, 2), 2u);  // lib/empty.py has none, so these are of the first files
  }
  const std::size_t all = manifest->hashes.size();
  Copy copy = begin();
  EXPECT_EQ(std::ranges::count(copy.is_there(), true), 2);
  EXPECT_EQ(fill(copy), all - 2);
  ASSERT_TRUE(copy.finish());
  EXPECT_EQ(seen(copy.path()), seen(environment));
}

TEST_F(CopyTest, AHalfWrittenLargeFileIsTakenUpByChunks) {
  read();
  const auto large = std::ranges::find(manifest->entries, "large.so", &Entry::name);
  {
    Copy copy = begin();
    const std::string text = *read_file(environment / "lib/large.so");
    ASSERT_TRUE(copy.write(large->first_chunk + 1, text.substr(chunk_bytes, chunk_bytes)));
  }
  const Copy copy = begin();
  EXPECT_TRUE(copy.is_there()[large->first_chunk + 1]);
  EXPECT_FALSE(copy.is_there()[large->first_chunk]);
}

TEST_F(CopyTest, AFolderOfAnotherIsNotTrusted) {
  ASSERT_EQ(::chmod(cache->path().c_str(), 0755), 0);
  auto opened = CopyCache::open(base);
  ASSERT_FALSE(opened);
  EXPECT_NE(opened.error().line().find("others may enter it"), std::string::npos);
  ASSERT_EQ(::chmod(cache->path().c_str(), 0700), 0);
  if (::geteuid() != 0) return;
  ASSERT_EQ(::chown(cache->path().c_str(), 12345, 12345), 0);
  opened = CopyCache::open(base);
  ASSERT_FALSE(opened);
  EXPECT_NE(opened.error().line().find("it belongs to user 12345"), std::string::npos);
}

TEST_F(CopyTest, AFolderThatOthersCouldReplaceIsNotTrusted) {
  ASSERT_EQ(::chmod(base.c_str(), 0777), 0);
  const auto opened = CopyCache::open(base);
  ASSERT_FALSE(opened);
  EXPECT_NE(opened.error().line().find("every user may write to it"), std::string::npos);
  ASSERT_EQ(::chmod(base.c_str(), 01777), 0);
  EXPECT_TRUE(CopyCache::open(base));
}

TEST_F(CopyTest, ALinkInPlaceOfTheFolderIsNotFollowed) {
  std::filesystem::rename(cache->path(), base / "moved");
  std::filesystem::create_symlink("moved", cache->path());
  EXPECT_FALSE(CopyCache::open(base));
}

TEST_F(CopyTest, OneProcessMakesACopyAtATime) {
  const auto first = cache->try_lock("key");
  ASSERT_TRUE(first && *first);
  const auto second = cache->try_lock("key");
  ASSERT_TRUE(second);
  EXPECT_FALSE(*second);
}

TEST(Scan, KnownHashesAreKeptWhileFilesAreTheSame) {
  const TemporaryFolder temporary;
  write(temporary.path() / "env/a", content(chunk_bytes + 1, 'a'));
  write(temporary.path() / "env/b", "b");
  auto first = scan(temporary.path() / "env", nullptr);
  ASSERT_TRUE(first);
  EXPECT_EQ(first->hashed_bytes, chunk_bytes + 2);
  // What was written a moment ago could be written again within the same tick.
  for (std::size_t i = 1; i < 3; ++i) EXPECT_EQ(first->stamped.stamps[i].changed_ns, 0);
  Stamped known = first->stamped;
  for (std::size_t i = 1; i < 3; ++i) {
    struct stat status {};
    ::lstat((temporary.path() / "env" / known.manifest.path_of(i)).c_str(), &status);
    known.stamps[i] = stamp_of(status);
  }
  const auto kept = Stamped::decode(known.encode());
  ASSERT_TRUE(kept);
  auto second = scan(temporary.path() / "env", &*kept);
  ASSERT_TRUE(second);
  EXPECT_EQ(second->hashed_bytes, 0u);
  EXPECT_EQ(second->stamped.manifest, first->stamped.manifest);
  write(temporary.path() / "env/b", "c");
  second = scan(temporary.path() / "env", &*kept);
  ASSERT_TRUE(second);
  EXPECT_EQ(second->hashed_bytes, 1u);
}

std::uint64_t bytes_read() {
  std::ifstream io("/proc/self/io");
  std::string name;
  std::uint64_t bytes = 0;
  io >> name >> bytes;
  return bytes;
}

std::uint64_t allocated_bytes(const std::filesystem::path& path) {
  struct stat status {};
  ::lstat(path.c_str(), &status);
  return static_cast<std::uint64_t>(status.st_blocks) * 512;
}

// Files that have holes, end with them, or consist of them; and one whose zeros were written.
TEST_F(CopyTest, ZerosAreHoles) {
  const auto add = [&](const std::string& name, const std::string& text, std::uint64_t size) {
    write(environment / "holes" / name, text);
    std::filesystem::resize_file(environment / "holes" / name, size);
  };
  add("in the middle", "", 4 * chunk_bytes + 17);
  std::fstream(environment / "holes/in the middle").seekp(3 * chunk_bytes) << "data";
  add("at the end", "begins", 4 * chunk_bytes);
  add("nothing else", "", 3 * chunk_bytes);
  add("written", std::string(2 * chunk_bytes, '\0') + "end", 2 * chunk_bytes + 3);
  EXPECT_EQ(make(), 4u + 44u) << "chunks with data, and those of the other files";
  std::uint64_t bytes = 0;
  for (const auto& item : std::filesystem::directory_iterator(path / "holes")) {
    bytes += allocated_bytes(item.path());
  }
  EXPECT_LE(bytes, 4 * chunk_bytes);
  // What is taken over from another version keeps them; its times differ.
  for (const auto& item : std::filesystem::directory_iterator(environment / "holes")) {
    std::filesystem::last_write_time(item.path(), std::filesystem::file_time_type());
  }
  EXPECT_EQ(make(), 0u);
  EXPECT_LE(allocated_bytes(path / "holes/nothing else"), 0u);
  EXPECT_LE(allocated_bytes(path / "holes/in the middle"), 2 * chunk_bytes);
}

TEST_F(CopyTest, HolesTakeNoRoom) {
  write(environment / "vast", "begins");
  std::filesystem::resize_file(environment / "vast", std::uint64_t{8} << 40);
  read();
  const Copy copy = begin();
  EXPECT_LT(copy.missing_bytes(), 8 * chunk_bytes);
  EXPECT_TRUE(copy.check_room());
}

// A part that an earlier run left, and in which something was written where zeros belong.
TEST_F(CopyTest, WhatIsNoLongerAHoleIsMadeAgain) {
  write(environment / "sparse", "begins");
  std::filesystem::resize_file(environment / "sparse", 3 * chunk_bytes);
  read();
  {
    Copy copy = begin();
    fill(copy);
  }
  for (const auto& item : std::filesystem::recursive_directory_iterator(base)) {
    if (item.path().filename() != "sparse") continue;
    std::filesystem::resize_file(item.path(), 2 * chunk_bytes);
    std::fstream(item.path()).seekp(chunk_bytes + 5) << "other";
  }
  EXPECT_EQ(make(), 1u);
}

TEST(Scan, ReadsNoHoles) {
  const TemporaryFolder folder;
  const auto sparse = [&](const std::string& name, std::uint64_t size) {
    write(folder.path() / name / "file", "begins");
    std::filesystem::resize_file(folder.path() / name / "file", size);
    return (folder.path() / name).string();
  };
  const std::uint64_t before = bytes_read();
  ASSERT_TRUE(scan(sparse("large", std::uint64_t{200} << 30), nullptr));
  EXPECT_LT(bytes_read() - before, std::uint64_t{64} << 20);
  // Its hashes are those of a file whose zeros were written.
  const std::uint64_t size = 3 * chunk_bytes + 17;
  std::string zeros(size, '\0');
  zeros.replace(0, 6, "begins");
  write(folder.path() / "full/file", zeros);
  const auto holes = scan(sparse("small", size), nullptr);
  const auto full = scan((folder.path() / "full").string(), nullptr);
  ASSERT_TRUE(holes && full);
  EXPECT_EQ(holes->stamped.manifest.hashes, full->stamped.manifest.hashes);
}

TEST(Scan, SaysWhatItCannotRead) {
  const TemporaryFolder temporary;
  const auto missing = scan(temporary.path() / "none", nullptr);
  ASSERT_FALSE(missing);
  EXPECT_NE(missing.error().line().find("/none: No such file or directory"), std::string::npos);
}

TEST(Stamped, ACutFileIsNotRead) {
  const TemporaryFolder temporary;
  write(temporary.path() / "env/a", "a");
  const std::string text = scan(temporary.path() / "env", nullptr)->stamped.encode();
  EXPECT_TRUE(Stamped::decode(text));
  for (std::size_t size = 0; size < text.size(); ++size) {
    EXPECT_FALSE(Stamped::decode(text.substr(0, size))) << size;
  }
}

}  // namespace
}  // namespace toprun::stage
