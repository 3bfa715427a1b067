#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/os/environment.h"
#include "base/os/mounts.h"
#include "base/process/disk_space.h"

namespace toprun::cli {

// One user's limit on a file system, and its use.
struct Quota {
  std::uint64_t used_bytes = 0;
  std::uint64_t limit_bytes = 0;  // the soft one, else the hard one; never 0
};

// One place where a job may keep files.
struct FileSystem {
  std::string use;   // "$HOME", "$SCRATCH", "here" …
  std::string path;  // as the variable says
  std::string type;  // "nfs4"; empty: unknown
  std::optional<bool> shared;
  std::optional<process::DiskSpace> space;
  std::string trouble;  // why the space is not known
  std::optional<Quota> quota;
};

// The places that this environment names with their space; takes a few seconds at most.
std::vector<FileSystem> file_systems(const Environment& environment);

// The places to examine, as variable and path; variables with the same path share one. Pure.
std::vector<FileSystem> places(const Environment& environment, const std::string& here);

// The line for this device in what `quota -w -p` prints (quota(1)): numbers in KiB. Pure.
std::optional<Quota> parse_quota(std::string_view text, std::string_view device);
// What `lfs quota -q -u USER PATH` prints: the path, KiB used, soft and hard limit … Pure.
std::optional<Quota> parse_lustre_quota(std::string_view text);

}  // namespace toprun::cli
