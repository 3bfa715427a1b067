#pragma once

#include <unistd.h>

#include <cstddef>
#include <string_view>
#include <utility>

namespace toprun {

// Writes the whole `text` and blocks until that is done, even if another process has made the
// descriptor non-blocking. False on failure, with the reason in errno.
bool write_all(int fd, std::string_view text);

// The advice for EMFILE: the process has reached its limit of open files.
inline constexpr const char* more_open_files = "raise the limit on open files (ulimit -n)";

// Raises this process's soft limit on open files to the hard limit. Returns the new soft limit.
std::size_t raise_open_files();

// Owns one file descriptor and closes it.
class Fd {
 public:
  Fd() = default;
  explicit Fd(int fd) : fd_(fd) {}
  Fd(Fd&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Fd& operator=(Fd&& other) noexcept {
    if (this != &other) {
      reset();
      fd_ = std::exchange(other.fd_, -1);
    }
    return *this;
  }
  ~Fd() { reset(); }

  int get() const { return fd_; }
  explicit operator bool() const { return fd_ >= 0; }
  int release() { return std::exchange(fd_, -1); }
  void reset() {
    if (fd_ >= 0) ::close(std::exchange(fd_, -1));
  }

 private:
  int fd_ = -1;
};

}  // namespace toprun
