#pragma once

#include <fcntl.h>
#include <fmt/format.h>
#include <sched.h>
#include <sys/mount.h>

#include <chrono>
#include <filesystem>

#include "base/os/fd.h"

namespace toprun::worker {

inline constexpr std::chrono::seconds test_limit{30};

// Mounts a file system that has no server, for this thread and the threads that it starts.
inline Fd mount_hanging_folder(const std::filesystem::path& folder) {
  Fd server(::open("/dev/fuse", O_RDWR | O_CLOEXEC));
  if (!server || ::unshare(CLONE_NEWNS) != 0) return {};
  ::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr);
  std::filesystem::create_directory(folder);
  const auto options = fmt::format("fd={},rootmode=40000,user_id=0,group_id=0", server.get());
  if (::mount("nobody", folder.c_str(), "fuse", 0, options.c_str()) != 0) return {};
  return server;
}

}  // namespace toprun::worker
