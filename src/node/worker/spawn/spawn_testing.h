#pragma once

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sched.h>
#include <sys/mount.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <thread>

#include "base/os/fd.h"

namespace toprun::spawn {

// A FUSE file system, for this thread and its children, that accepts every request and never
// answers. A process that accesses it survives SIGKILL until this object is destroyed.
class UnkillableFolder {
 public:
  explicit UnkillableFolder(const std::filesystem::path& folder)
      : path_(folder), server_(::open("/dev/fuse", O_RDWR | O_CLOEXEC | O_NONBLOCK)) {
    if (!server_ || ::unshare(CLONE_NEWNS) != 0) return;
    ::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr);
    std::filesystem::create_directory(folder);
    const auto options = fmt::format("fd={},rootmode=40000,user_id=0,group_id=0", server_.get());
    is_mounted_ = ::mount("nobody", folder.c_str(), "fuse", 0, options.c_str()) == 0;
    int ends[2];
    if (!is_mounted_ || ::pipe2(ends, O_CLOEXEC) != 0) return;
    end_ = Fd(ends[1]);
    serving_ = std::thread([this, ended = Fd(ends[0])] { serve(ended); });
  }
  ~UnkillableFolder() {
    // A forked process has this descriptor as well, so closing it would not be enough.
    if (end_ && ::write(end_.get(), "x", 1) == 1) serving_.join();
    if (!is_mounted_) return;
    // First releases all processes that wait, because a forked process that waits has the server's
    // descriptor too.
    ::umount2(path_.c_str(), MNT_FORCE);
    ::umount2(path_.c_str(), MNT_DETACH);
  }
  UnkillableFolder(const UnkillableFolder&) = delete;
  UnkillableFolder& operator=(const UnkillableFolder&) = delete;

  bool is_mounted() const { return is_mounted_; }
  // Whether a request waits for an answer. Before the server has received the request, a signal
  // still ends the wait.
  bool holds_a_request() const { return holds_; }

 private:
  // linux/fuse.h: only FUSE_INIT is answered, because otherwise the kernel would send no other
  // request.
  void serve(const Fd& ended) {
    constexpr std::uint32_t init = 26, major = 7, minor = 31, most_written = 1u << 16;
    std::array<char, 1u << 17> request;
    for (;;) {
      std::array<pollfd, 2> waiting{pollfd{server_.get(), POLLIN, 0},
                                    pollfd{ended.get(), POLLIN, 0}};
      ::poll(waiting.data(), waiting.size(), -1);
      if (waiting[1].revents != 0) return;
      const ssize_t n = ::read(server_.get(), request.data(), request.size());
      std::array<std::uint32_t, 4> header;  // length, opcode, unique
      if (n < static_cast<ssize_t>(sizeof header)) continue;
      std::memcpy(header.data(), request.data(), sizeof header);
      if (header[1] != init) {
        holds_ = true;
        continue;
      }
      const std::array<std::uint32_t, 20> answer = {80,    0, header[2], header[3], major,
                                                    minor, 0, 0,         0,         most_written};
      [[maybe_unused]] const ssize_t sent = ::write(server_.get(), answer.data(), sizeof answer);
    }
  }

  const std::filesystem::path path_;
  Fd server_;
  Fd end_;
  bool is_mounted_ = false;
  std::atomic<bool> holds_ = false;
  std::thread serving_;
};

}  // namespace toprun::spawn
