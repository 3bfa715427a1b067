#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace toprun::process {

struct DiskSpace {
  std::string real_path;  // without links
  std::uint64_t total_bytes = 0;
  std::uint64_t free_bytes = 0;   // that this user may fill
  std::uint64_t total_files = 0;  // 0: the file system has no such limit
  std::uint64_t free_files = 0;
};

struct DiskAnswer {
  std::optional<DiskSpace> space;
  std::string trouble;  // why there is none, in words
};

// Asks for the space at each path (statvfs(3)), all in parallel and each in its own process, so
// that an unreachable network file system costs no more than `timeout`. Call it while this process
// has only one thread.
std::vector<DiskAnswer> disk_space(const std::vector<std::string>& paths,
                                   std::chrono::milliseconds timeout);

}  // namespace toprun::process
