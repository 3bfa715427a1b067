#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace toprun {

inline constexpr std::size_t max_mounts = 100'000;  // further mounts are not read

struct Mount {
  std::string point;
  std::string type;    // "nfs4", "ext4", "fuse.sshfs"
  std::string source;  // "server:/export", "/dev/sda1"
};

// Parses /proc/self/mountinfo (proc_pid_mountinfo(5)); malformed lines are ignored.
std::vector<Mount> parse_mounts(std::string_view mountinfo);

// Returns the mount that contains `path`, which must be absolute and without links. If several
// mounts have the same mount point, returns the last of these mounts.
const Mount* mount_of(const std::vector<Mount>& mounts, std::string_view path);

// Whether other hosts see the same files in a file system of this type; unset: unknown.
std::optional<bool> is_shared(std::string_view type);

}  // namespace toprun
