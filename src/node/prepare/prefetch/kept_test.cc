#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>

#include "base/os/files.h"
#include "base/os/os_testing.h"
#include "node/prepare/prefetch/prefetch_record.h"

namespace toprun::prefetch {
namespace {

namespace fs = std::filesystem;

constexpr const char* text = "toprun prefetch 1\nwhole /v/a\nend\n";

mode_t mode_of(const fs::path& path) {
  struct stat status {};
  EXPECT_EQ(::stat(path.c_str(), &status), 0) << path;
  return status.st_mode & 07777;
}

TEST(KeptRecords, AreFoundAgain) {
  const TemporaryFolder home;
  const auto folder = folder_of({{"HOME", home.path().string()}});
  ASSERT_EQ(folder, home.path() / ".cache/toprun/prefetch");
  EXPECT_FALSE(*find_kept(*folder, "k1"));
  ASSERT_TRUE(keep(*folder, "k1", text));
  EXPECT_EQ(mode_of(*folder), 0700u);
  const auto found = find_kept(*folder, "k1");
  ASSERT_TRUE(found && *found);
  EXPECT_EQ((*found)->entries.front().path, "/v/a");
  EXPECT_FALSE(*find_kept(*folder, "k2"));
  EXPECT_EQ(folder_of({{"HOME", "/h"}, {"XDG_CACHE_HOME", "/c"}}), "/c/toprun/prefetch");
  EXPECT_FALSE(folder_of(Environment()));
}

TEST(KeptRecords, OneThatIsCutOffIsNone) {
  const TemporaryFolder home;
  const fs::path folder = home.path() / "toprun/prefetch";
  ASSERT_TRUE(keep(folder, "k", std::string(text).substr(0, 30)));
  const auto found = find_kept(folder, "k");
  ASSERT_TRUE(found);
  EXPECT_FALSE(*found);
}

TEST(KeptRecords, OneOfOtherPackagesIsNone) {
  const TemporaryFolder home;
  const fs::path folder = home.path() / "toprun/prefetch", packages = home.path() / "site-packages";
  fs::create_directory(packages);
  struct stat status {};
  ASSERT_EQ(::stat(packages.c_str(), &status), 0);
  const std::string now =
      std::to_string(status.st_mtim.tv_sec * 1'000'000'000 + status.st_mtim.tv_nsec);
  ASSERT_TRUE(keep(folder, "k",
                   "toprun prefetch 1\npackages " + now + " " + packages.string() + "\nend\n"));
  EXPECT_TRUE(*find_kept(folder, "k"));
  fs::last_write_time(packages, fs::last_write_time(packages) + std::chrono::seconds(1));
  EXPECT_FALSE(*find_kept(folder, "k"));
  fs::remove(packages);
  EXPECT_FALSE(*find_kept(folder, "k"));
}

TEST(KeptRecords, WhatOthersMayWriteIsNotBelieved) {
  const TemporaryFolder home;
  const fs::path folder = home.path() / "toprun/prefetch";
  ASSERT_TRUE(keep(folder, "k", text));
  ASSERT_EQ(::chmod((folder / "k.files").c_str(), 0666), 0);
  EXPECT_FALSE(find_kept(folder, "k"));
  ASSERT_EQ(::chmod((folder / "k.files").c_str(), 0600), 0);
  ASSERT_EQ(::chmod(folder.c_str(), 0777), 0);
  EXPECT_FALSE(find_kept(folder, "k"));
  EXPECT_FALSE(keep(folder, "k", text));
  ASSERT_EQ(::chmod(folder.c_str(), 0700), 0);
  if (::geteuid() != 0) GTEST_SKIP() << "only root can give files away";
  ASSERT_EQ(::chown((folder / "k.files").c_str(), 4711, 4711), 0);
  EXPECT_NE(find_kept(folder, "k").error().line().find("belongs to user 4711"), std::string::npos);
  ASSERT_EQ(::chown(folder.c_str(), 4711, 4711), 0);
  EXPECT_FALSE(keep(folder, "k2", text));
}

TEST(KeptRecords, ALinkInTheirPlaceIsNoFolder) {
  const TemporaryFolder home;
  fs::create_directories(home.path() / "elsewhere");
  fs::create_directories(home.path() / "toprun");
  fs::create_directory_symlink(home.path() / "elsewhere", home.path() / "toprun/prefetch");
  const fs::path folder = home.path() / "toprun/prefetch";
  EXPECT_FALSE(keep(folder, "k", text));
  EXPECT_FALSE(find_kept(folder, "k"));
  EXPECT_TRUE(fs::is_empty(home.path() / "elsewhere"));
}

TEST(KeptRecords, TheOldestGo) {
  const TemporaryFolder home;
  const fs::path folder = home.path() / "toprun/prefetch";
  const auto now = fs::file_time_type::clock::now();
  for (std::size_t i = 0; i < most_kept; ++i) {
    const std::string key = "k" + std::to_string(i);
    ASSERT_TRUE(keep(folder, key, text));
    fs::last_write_time(folder / (key + ".files"), now - std::chrono::hours(i + 1));
  }
  ASSERT_TRUE(keep(folder, "new", text));
  EXPECT_TRUE(*find_kept(folder, "new"));
  EXPECT_TRUE(*find_kept(folder, "k0"));
  EXPECT_FALSE(*find_kept(folder, "k" + std::to_string(most_kept - 1)));
}

}  // namespace
}  // namespace toprun::prefetch
