#include "base/os/mounts.h"

#include <gtest/gtest.h>

namespace toprun {
namespace {

constexpr std::string_view mountinfo =
    "22 1 8:1 / / rw,relatime shared:1 - ext4 /dev/sda1 rw\n"
    "30 22 0:26 / /tmp rw - tmpfs tmpfs rw,size=1g\n"
    "31 22 0:30 /export /home rw,nosuid shared:5 master:2 - nfs4 nas:/export rw,vers=4.2\n"
    "32 22 0:31 / /mnt/with\\040blank rw - fuse.sshfs me@host:/x rw\n"
    "33 30 0:32 / /tmp rw - ext4 /dev/sdb1 rw\n"
    "34 22 0:33 / /scratch rw - lustre 10.0.0.1@o2ib:/fs rw\n"
    "no mount at all\n"
    "35 22 - x\n";

TEST(Mounts, TellsWhichOneHoldsAPath) {
  const auto mounts = parse_mounts(mountinfo);
  EXPECT_EQ(mounts.size(), 6u);
  for (const auto& [path, type] : std::vector<std::pair<std::string, std::string>>{
           {"/", "ext4"},
           {"/etc/passwd", "ext4"},
           {"/home/me", "nfs4"},
           {"/homes", "ext4"},
           {"/mnt/with blank/x", "fuse.sshfs"},
           {"/tmp/x", "ext4"},  // what was mounted last lies on top
           {"/scratch", "lustre"},
       }) {
    const Mount* const mount = mount_of(mounts, path);
    ASSERT_NE(mount, nullptr) << path;
    EXPECT_EQ(mount->type, type) << path;
  }
  EXPECT_EQ(mount_of(mounts, "relative"), nullptr);
}

TEST(Mounts, TellsWhatOtherHostsSee) {
  EXPECT_EQ(is_shared("nfs4"), true);
  EXPECT_EQ(is_shared("fuse.sshfs"), true);
  EXPECT_EQ(is_shared("ext4"), false);
  EXPECT_EQ(is_shared("fuse.something"), std::nullopt);
}

}  // namespace
}  // namespace toprun
