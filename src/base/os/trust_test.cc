#include "base/os/trust.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include "base/os/os_testing.h"

namespace toprun {
namespace {

namespace fs = std::filesystem;

constexpr uid_t ada = 1000;
constexpr uid_t bob = 1001;

struct stat status(uid_t owner, mode_t mode) {
  struct stat made {};
  made.st_uid = owner;
  made.st_mode = S_IFREG | mode;
  return made;
}

constexpr const char* foreign = "it belongs to user 1001, neither to you nor to root";

TEST(Trust, IsForWhatOnlyTheUserOrRootCanHaveWritten) {
  const struct {
    uid_t owner;
    mode_t mode;
    std::string why;
  } cases[] = {
      {ada, 0644, ""},
      {ada, 0600, ""},
      {ada, 0664, ""},
      {0, 0644, ""},
      {bob, 0644, foreign},
      {bob, 0600, foreign},
      {ada, 0646, "every user may write to it"},
      {0, 0666, "every user may write to it"},
  };
  for (const auto& one : cases) {
    EXPECT_EQ(distrust(status(one.owner, one.mode), ada), one.why) << one.owner << ' ' << one.mode;
  }
}

TEST(Trust, OfASecretIsForWhatNobodyElseCanRead) {
  const struct {
    uid_t owner;
    mode_t mode;
    std::string why;
  } cases[] = {
      {ada, 0600, ""},
      {ada, 0400, ""},
      {ada, 0640, "others may read it"},
      {ada, 0620, "others may read it"},
      {ada, 0604, "others may read it"},
      {ada, 0602, "every user may write to it"},
      {bob, 0600, foreign},
      {0, 0644, ""},  // root gave it to the user by what way root likes
      {0, 0646, "every user may write to it"},
  };
  for (const auto& one : cases) {
    EXPECT_EQ(distrust_secret(status(one.owner, one.mode), ada), one.why)
        << one.owner << ' ' << one.mode;
  }
}

// Somebody else's link needs root to be made.
class LinkedFiles : public testing::Test {
 protected:
  void SetUp() override {
    if (::geteuid() != 0) GTEST_SKIP() << "only root can make links of others";
  }
  fs::path link(const std::string& name, const fs::path& target, uid_t owner) {
    fs::create_symlink(target, folder_.path() / name);
    EXPECT_EQ(::lchown((folder_.path() / name).c_str(), owner, owner), 0);
    return folder_.path() / name;
  }
  const TemporaryFolder folder_;
};

TEST_F(LinkedFiles, AreFollowedWhereTheyAreOurs) {
  fs::create_directory(folder_.path() / "far");
  link("near", "far", ada);
  link("nearer", "./near", 0);
  EXPECT_EQ(follow_own_links(folder_.path() / "nearer" / "new", ada),
            folder_.path() / "far" / "new");
  EXPECT_EQ(follow_own_links(folder_.path() / "near" / ".." / "x", ada), folder_.path() / "x");
  EXPECT_EQ(follow_own_links("/", ada), "/");
}

TEST_F(LinkedFiles, OfOthersAreRefusedWhereverTheyStand) {
  link("last", "/etc/passwd", bob);
  link("on_the_way", "/etc", bob);
  link("own", "last", ada);
  for (const char* path : {"last", "on_the_way/x", "own"}) {
    const auto followed = follow_own_links(folder_.path() / path, ada);
    ASSERT_FALSE(followed) << path;
    EXPECT_EQ(followed.error()->why, foreign);
  }
}

TEST_F(LinkedFiles, ThatGoInCirclesEnd) {
  link("a", "b", ada);
  link("b", "a", ada);
  EXPECT_FALSE(follow_own_links(folder_.path() / "a", ada));
}

class Ours : public LinkedFiles {
 protected:
  fs::path folder(const std::string& name, uid_t owner, mode_t mode) {
    const fs::path path = folder_.path() / name;
    fs::create_directories(path);
    EXPECT_EQ(::chown(path.c_str(), owner, owner), 0);
    EXPECT_EQ(::chmod(path.c_str(), mode), 0);
    return path;
  }
  std::string why_not(const std::string& base, const std::string& path) {
    const auto checked = check_ours(folder_.path() / base, folder_.path() / path, ada);
    return checked
               ? ""
               : fs::path(checked.error()->what).filename().string() + ": " + checked.error()->why;
  }
};

TEST_F(Ours, IsWhatNobodyElseCouldReplace) {
  folder("scratch", bob, 01777);
  EXPECT_EQ(why_not("scratch", "scratch/toprun/images/a.sif"), "");  // not there yet
  folder("scratch/toprun", ada, 0755);
  folder("scratch/toprun/images", ada, 0755);
  EXPECT_EQ(why_not("scratch", "scratch/toprun/images/a.sif"), "");
  folder("scratch/toprun/images/a.sif", 0, 0644);
  EXPECT_EQ(why_not("scratch", "scratch/toprun/images/a.sif"), "");
  folder("scratch/toprun/images/a.sif", bob, 0644);
  EXPECT_EQ(why_not("scratch", "scratch/toprun/images/a.sif"), std::string("a.sif: ") + foreign);
  folder("scratch/toprun/images/a.sif", ada, 0666);
  EXPECT_EQ(why_not("scratch", "scratch/toprun/images/a.sif"), "a.sif: every user may write to it");
}

TEST_F(Ours, IsNothingBelowAFolderOfOthers) {
  folder("scratch", 0, 01777);
  folder("scratch/toprun", bob, 0755);
  folder("scratch/toprun/images", ada, 0755);
  EXPECT_EQ(why_not("scratch", "scratch/toprun/images/a.sif"), std::string("toprun: ") + foreign);
}

TEST_F(Ours, IsNothingWhereEverybodyMayRename) {
  folder("scratch", 0, 0777);
  EXPECT_EQ(why_not("scratch", "scratch/toprun"),
            "scratch: every user may rename files in this folder");
}

TEST_F(Ours, LooksAtWhatALinkLeadsTo) {
  folder("scratch", 0, 01777);
  folder("far", bob, 0755);
  link("scratch/toprun", folder_.path() / "far", ada);
  EXPECT_EQ(why_not("scratch", "scratch/toprun/a"), std::string("toprun: ") + foreign);
}

}  // namespace
}  // namespace toprun
