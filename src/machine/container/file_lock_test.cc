#include <gtest/gtest.h>

#include <cerrno>
#include <fstream>

#include "base/os/os_testing.h"
#include "machine/container/prepare.h"

namespace toprun::container {
namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;

int no_locks(int, int) {
  errno = ENOSYS;
  return -1;
}

int broken(int, int) {
  errno = EIO;
  return -1;
}

class FileLockTest : public testing::Test {
 protected:
  const TemporaryFolder folder_;
  const fs::path file_ = folder_.path() / "lock";
};

TEST_F(FileLockTest, OneHoldsItWhateverTheFileSystemHas) {
  for (const FileLock::Flock flock : {FileLock::Flock(::flock), FileLock::Flock(no_locks)}) {
    FileLock second(file_, flock);
    {
      FileLock first(file_, flock);
      EXPECT_EQ(first.try_lock(), true);
      EXPECT_EQ(first.try_lock(), true);
      EXPECT_EQ(second.try_lock(), false);
    }
    EXPECT_EQ(second.try_lock(), true);
  }
  EXPECT_FALSE(fs::exists(file_.native() + ".held"));
}

TEST_F(FileLockTest, OneThatAKilledHolderLeftIsTaken) {
  std::ofstream(file_.native() + ".held") << "";
  FileLock lock(file_, no_locks, 200ms);
  EXPECT_EQ(lock.try_lock(), false);
  std::this_thread::sleep_for(300ms);
  EXPECT_EQ(lock.try_lock(), false);  // removes it
  EXPECT_EQ(lock.try_lock(), true);
}

TEST_F(FileLockTest, OneThatIsHeldForLongIsLeftAlone) {
  FileLock first(file_, no_locks, 1200ms);
  ASSERT_EQ(first.try_lock(), true);
  FileLock second(file_, no_locks, 1200ms);
  for (int i = 0; i < 16; ++i) {
    EXPECT_EQ(second.try_lock(), false);
    std::this_thread::sleep_for(100ms);
  }
}

TEST_F(FileLockTest, OtherTroubleIsToldOf) {
  FileLock lock(file_, broken);
  EXPECT_FALSE(lock.try_lock());
  FileLock nowhere(folder_.path() / "none/lock");
  EXPECT_FALSE(nowhere.try_lock());
}

}  // namespace
}  // namespace toprun::container
