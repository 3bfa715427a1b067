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

// A user's quota on a file system, and how much of the quota is used.
struct Quota {
  std::uint64_t used_bytes = 0;
  std::uint64_t limit_bytes = 0;  // the soft limit, else the hard limit; never 0
};

// A folder where a job may store files.
struct FileSystem {
  std::string use;   // "$HOME", "$SCRATCH", "here" …
  std::string path;  // the value of the variable
  std::string type;  // "nfs4"; empty: unknown
  std::optional<bool> shared;
  std::optional<process::DiskSpace> space;
  std::string trouble;  // why the space is unknown
  std::optional<Quota> quota;
};

// Returns the folders that environment variables such as HOME and SCRATCH name, with their free
// space. Takes at most a few seconds.
std::vector<FileSystem> file_systems(const Environment& environment);

// Returns each folder that file_systems() examines, with the variables that name it. If several
// variables name the same path, the result has one element for this path. Pure.
std::vector<FileSystem> places(const Environment& environment, const std::string& here);

// Parses the line for this device in the output of `quota -w -p` (quota(1)), with numbers in KiB.
// Pure.
std::optional<Quota> parse_quota(std::string_view text, std::string_view device);
// Parses the output of `lfs quota -q -u USER PATH`: the path, KiB used, soft limit, hard limit …
// Pure.
std::optional<Quota> parse_lustre_quota(std::string_view text);

}  // namespace toprun::cli
