#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace toprun {

inline constexpr std::size_t max_mounts = 100'000;  // the rest is not read

struct Mount {
  std::string point;
  std::string type;    // "nfs4", "ext4", "fuse.sshfs"
  std::string source;  // "server:/export", "/dev/sda1"
};

// /proc/self/mountinfo (proc_pid_mountinfo(5)); lines that are not of its form are left out.
std::vector<Mount> parse_mounts(std::string_view mountinfo);

// The mount that holds an absolute path without links; the last one of several on one point.
const Mount* mount_of(const std::vector<Mount>& mounts, std::string_view path);

// Whether other hosts see the same files. Unset if the type does not show it.
std::optional<bool> is_shared(std::string_view type);

}  // namespace toprun
