#include "base/os/mounts.h"

#include <algorithm>

#include "base/text/text.h"

namespace toprun {
namespace {

constexpr std::string_view shared_types[] = {
    "nfs",          "nfs4",         "lustre",         "gpfs",       "mmfs",
    "beegfs",       "ceph",         "wekafs",         "panfs",      "pvfs2",
    "orangefs",     "cifs",         "smb3",           "afs",        "9p",
    "virtiofs",     "gfs2",         "ocfs2",          "fuse.sshfs", "fuse.glusterfs",
    "fuse.juicefs", "fuse.ceph",    "fuse.dfuse",     "fuse.daos",  "fuse.quobyte",
    "fuse.s3fs",    "fuse.gcsfuse", "fuse.rclone",    "fuse.mfs",   "fuse.moosefs",
    "fuse.cvmfs2",  "cvmfs",        "fuse.ceph-fuse",
};
constexpr std::string_view local_types[] = {
    "ext2", "ext3",  "ext4",  "xfs",     "btrfs",    "zfs",      "f2fs",     "jfs",     "reiserfs",
    "vfat", "tmpfs", "ramfs", "overlay", "squashfs", "devtmpfs", "bcachefs", "fuseblk",
};

// Replaces octal escapes: "\040" is a blank.
std::string unescaped(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto digit = [&](std::size_t at) {
      return at < text.size() && text[at] >= '0' && text[at] <= '7' ? text[at] - '0' : -1;
    };
    if (text[i] == '\\' && digit(i + 1) >= 0 && digit(i + 2) >= 0 && digit(i + 3) >= 0) {
      out += static_cast<char>(digit(i + 1) * 64 + digit(i + 2) * 8 + digit(i + 3));
      i += 3;
    } else {
      out += text[i];
    }
  }
  return out;
}

bool holds(std::string_view point, std::string_view path) {
  if (point == "/") return path.starts_with('/');
  return path.starts_with(point) && (path.size() == point.size() || path[point.size()] == '/');
}

}  // namespace

std::vector<Mount> parse_mounts(std::string_view mountinfo) {
  std::vector<Mount> mounts;
  for (const std::string_view line : split(mountinfo, '\n')) {
    if (mounts.size() == max_mounts) break;
    // 36 35 98:0 /root /mnt rw,noatime master:1 - ext3 /dev/root rw
    const std::size_t dash = line.find(" - ");
    if (dash == std::string_view::npos) continue;
    const auto place = words(line.substr(0, dash));
    const auto kind = words(line.substr(dash + 3));
    if (place.size() < 6 || kind.size() < 2) continue;
    mounts.push_back({unescaped(place[4]), std::string(kind[0]), unescaped(kind[1])});
  }
  return mounts;
}

const Mount* mount_of(const std::vector<Mount>& mounts, std::string_view path) {
  const Mount* best = nullptr;
  for (const Mount& mount : mounts) {
    const bool deeper = best == nullptr || mount.point.size() >= best->point.size();
    if (deeper && holds(mount.point, path)) best = &mount;
  }
  return best;
}

std::optional<bool> is_shared(std::string_view type) {
  if (std::ranges::find(shared_types, type) != std::end(shared_types)) return true;
  if (std::ranges::find(local_types, type) != std::end(local_types)) return false;
  return std::nullopt;
}

}  // namespace toprun
