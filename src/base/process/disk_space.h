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
  std::uint64_t free_bytes = 0;   // available to this user
  std::uint64_t total_files = 0;  // 0: the file system has no such limit
  std::uint64_t free_files = 0;
};

struct DiskAnswer {
  std::optional<DiskSpace> space;
  std::string trouble;  // why `space` is unset, in words
};

// Queries the size and the free space of the file system at each path (statvfs(3)). All queries run
// in parallel, each in its own process, so an unreachable network file system costs at most
// `timeout`. Call disk_space() only while this process has only one thread.
std::vector<DiskAnswer> disk_space(const std::vector<std::string>& paths,
                                   std::chrono::milliseconds timeout);

}  // namespace toprun::process
