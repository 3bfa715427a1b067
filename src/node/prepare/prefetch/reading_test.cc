#include "node/prepare/prefetch/reading.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <thread>

#include "base/os/fd.h"
#include "base/os/os_testing.h"

namespace toprun::prefetch {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t mib = 1u << 20;

Entry whole(std::string path) {
  return {Entry::Kind::whole, std::move(path)};
}
Entry part(std::string path, std::uint64_t offset, std::uint64_t length) {
  return {Entry::Kind::part, std::move(path), {offset, length}};
}

// Temporary folders may be in memory, where nothing is ever missing: these are beside the program.
class PrefetchReading : public ::testing::Test {
 protected:
  PrefetchReading() {
    std::string pattern = fs::current_path() / "prefetch-XXXXXX";
    folder_ = ::mkdtemp(pattern.data());
  }
  ~PrefetchReading() override { fs::remove_all(folder_); }

  std::string file(const std::string& name, std::size_t size) {
    const std::string path = folder_ / name;
    std::ofstream(path) << std::string(size, 'x');
    forget(path);
    return path;
  }
  static void forget(const std::string& path) {
    const Fd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
    ::fsync(fd.get());
    ::posix_fadvise(fd.get(), 0, 0, POSIX_FADV_DONTNEED);
  }
  // How many bytes of the file are in the page cache.
  static std::size_t cached(const std::string& path) {
    const Fd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
    const std::size_t size = fs::file_size(path);
    void* const at = ::mmap(nullptr, size, PROT_READ, MAP_SHARED, fd.get(), 0);
    std::vector<unsigned char> pages((size + 4095) / 4096);
    EXPECT_EQ(::mincore(at, size, pages.data()), 0);
    ::munmap(at, size);
    return 4096 * static_cast<std::size_t>(
                      std::ranges::count_if(pages, [](auto page) { return page & 1; }));
  }
  bool cannot_forget() { return cached(file("probe", mib)) == mib; }

  fs::path folder_;
};

TEST_F(PrefetchReading, BringsFilesAndRangesIntoThePageCache) {
  if (cannot_forget()) GTEST_SKIP() << "these files are in memory";
  const std::string small = file("a.pyc", 200'000), large = file("b.so", 16 * mib);
  Reading reading({{whole(folder_),
                    whole(small),
                    part(large, 4 * mib, mib),
                    part(large, 5 * mib, 2 * mib),
                    {Entry::Kind::looked_at, small + ".so"}}});
  EXPECT_FALSE(reading.is_cached());
  reading.work(0);
  EXPECT_GE(cached(small), 200'000u);
  EXPECT_GE(cached(large), 3 * mib);
  EXPECT_LE(cached(large), 8 * mib) << "what no import touches is not read";
  EXPECT_EQ(reading.done().files, 2u);
  EXPECT_GE(reading.done().bytes, 2 * mib);
}

TEST_F(PrefetchReading, ReadsNothingThatIsThere) {
  if (cannot_forget()) GTEST_SKIP() << "these files are in memory";
  const std::string path = file("b.so", 4 * mib);
  const Record record{{part(path, 0, 4 * mib)}};
  Reading first(record);
  first.work(1);
  EXPECT_EQ(first.done().bytes, 4 * mib);
  Reading second(record);
  EXPECT_TRUE(second.is_cached());
  second.work(0);
  EXPECT_EQ(second.done().bytes, 0u);
}

TEST_F(PrefetchReading, ReadsAFileOfWhichTheBeginningIsThere) {
  if (cannot_forget()) GTEST_SKIP() << "these files are in memory";
  const std::string path = file("a.pyc", 600'000);
  const Fd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  ::posix_fadvise(fd.get(), 0, 0, POSIX_FADV_RANDOM);  // without read-ahead
  char byte = 0;
  ASSERT_EQ(::pread(fd.get(), &byte, 1, 0), 1);
  ASSERT_LT(cached(path), 100'000u);
  Reading reading({{whole(path)}});
  reading.work(0);
  EXPECT_GE(cached(path), 600'000u);
}

TEST_F(PrefetchReading, SeveralThreadsReadEachPieceOnce) {
  if (cannot_forget()) GTEST_SKIP() << "these files are in memory";
  Record record;
  std::uint64_t bytes = 0;
  for (int i = 0; i < 40; ++i) {
    const std::size_t size = 10'000 + 5'000 * static_cast<std::size_t>(i);
    record.entries.push_back(whole(file(fmt::format("{}.pyc", i), size)));
    record.entries.push_back(part(file(fmt::format("{}.so", i), 3 * mib), 0, 2 * mib));
    bytes += size + 2 * mib;
  }
  Reading reading(record);
  {
    std::vector<std::jthread> threads;
    for (std::size_t i = 0; i < 8; ++i) threads.emplace_back([&, i] { reading.work(i); });
  }
  EXPECT_EQ(reading.done().files, 80u);
  EXPECT_LE(reading.done().bytes, bytes);
  EXPECT_GE(reading.done().bytes, bytes / 2) << "read-ahead may have been quicker";
}

TEST_F(PrefetchReading, PassesOverWhatIsGoneShorterOrNoFile) {
  const std::string shorter = file("short.so", 1000), pipe = folder_ / "pipe";
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  Reading reading(
      {{whole(folder_ / "gone"), part(folder_ / "gone.so", 0, 4096), part(shorter, 0, 8 * mib),
        part(shorter, 1u << 30, mib), whole(pipe), part(pipe, 0, 4096)}});
  reading.work(0);
  EXPECT_LE(reading.done().bytes, 1000u);
}

TEST_F(PrefetchReading, StopsWhenItIsTold) {
  const std::string path = file("b.so", mib);
  Reading reading({{part(path, 0, mib)}});
  reading.stop();
  reading.work(0);
  EXPECT_EQ(reading.done().bytes, 0u);
}

}  // namespace
}  // namespace toprun::prefetch
