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
  std::uint64_t total_files = 0;  // 0: there is no limit of that kind
  std::uint64_t free_files = 0;
};

struct DiskAnswer {
  std::optional<DiskSpace> space;
  std::string trouble;  // why there is none, in words
};

// Asks for the space at each path (statvfs(3)), all at once and each in a process of its own, so
// that a network file system whose server is gone costs `timeout` and no more. To be called while
// this process has one thread.
std::vector<DiskAnswer> disk_space(const std::vector<std::string>& paths,
                                   std::chrono::milliseconds timeout);

}  // namespace toprun::process
