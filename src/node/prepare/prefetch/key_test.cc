#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <set>

#include "base/os/os_testing.h"
#include "node/prepare/prefetch/prefetch_record.h"

namespace toprun::prefetch {
namespace {

namespace fs = std::filesystem;

class PrefetchKey : public ::testing::Test {
 protected:
  PrefetchKey() {
    fs::create_directories(prefix() / "bin");
    fs::create_directories(packages() / "torch-2.13.0.dist-info");
    write(folder_.path() / "python3.11", "program");
    ::chmod((folder_.path() / "python3.11").c_str(), 0700);
    fs::create_symlink(folder_.path() / "python3.11", prefix() / "bin/python");
    write(prefix() / "pyvenv.cfg", "version = 3.11.7\n");
    environment_.set("HOME", (folder_.path() / "home").string());
  }

  static void write(const fs::path& path, const std::string& text) { std::ofstream(path) << text; }
  fs::path prefix() const { return folder_.path() / "venv"; }
  fs::path packages() const { return prefix() / "lib/python3.11/site-packages"; }
  std::string key(const std::vector<std::string>& modules = {"torch"}) const {
    return key_of((prefix() / "bin/python").string(), environment_, modules);
  }

  TemporaryFolder folder_;
  Environment environment_;
};

TEST_F(PrefetchKey, StaysAsLongAsTheEnvironment) {
  EXPECT_EQ(key().size(), 32u);
  EXPECT_EQ(key(), key());
  write(folder_.path() / "else", "x");
  environment_.set("RANK", "3");
  const std::string before = key();
  environment_.set("RANK", "4");
  EXPECT_EQ(key(), before);
}

TEST_F(PrefetchKey, IsAnotherAfterEachChange) {
  std::set<std::string> keys{key()};
  const auto is_new = [&] { return keys.insert(key()).second; };
  const auto time = fs::last_write_time(packages());
  fs::rename(packages() / "torch-2.13.0.dist-info", packages() / "torch-2.14.0.dist-info");
  fs::last_write_time(packages(), time);
  EXPECT_TRUE(is_new()) << "another version";
  fs::last_write_time(packages(), time + std::chrono::seconds(1));
  EXPECT_TRUE(is_new()) << "a package made again";
  write(prefix() / "pyvenv.cfg", "version = 3.12.1\n");
  EXPECT_TRUE(is_new()) << "another Python in pyvenv.cfg";
  write(folder_.path() / "python3.11", "another program");
  EXPECT_TRUE(is_new()) << "another Python";
  environment_.set("PYTHONPATH", (folder_.path() / "own").string() + ":" +
                                     (folder_.path() / "more/site-packages").string());
  EXPECT_TRUE(is_new()) << "PYTHONPATH";
  fs::create_directories(folder_.path() / "own");
  EXPECT_FALSE(is_new()) << "a folder of the user's";
  fs::create_directories(folder_.path() / "more/site-packages/numpy");
  EXPECT_TRUE(is_new()) << "packages that PYTHONPATH names";
  fs::create_directories(folder_.path() / "home/.local/lib/python3.11/site-packages");
  EXPECT_TRUE(is_new()) << "the user's own packages";
  fs::create_directories(prefix() / "conda-meta");
  write(prefix() / "conda-meta/history", "==> 2026-11-24 <==\n");
  EXPECT_TRUE(is_new()) << "conda";
  EXPECT_TRUE(keys.insert(key({"torch", "numpy"})).second) << "other modules";
}

TEST_F(PrefetchKey, IsEmptyWithoutAPython) {
  fs::remove(folder_.path() / "python3.11");
  EXPECT_EQ(key(), "");
}

}  // namespace
}  // namespace toprun::prefetch
