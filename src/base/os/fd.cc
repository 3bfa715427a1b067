#include "base/os/fd.h"

#include <poll.h>
#include <sys/resource.h>

#include <algorithm>
#include <cerrno>

namespace toprun {
namespace {

constexpr rlim_t kernel_default = 1u << 20;  // of fs.nr_open; the limit may be infinite

}  // namespace

bool write_all(int fd, std::string_view text) {
  while (!text.empty()) {
    const ssize_t n = ::write(fd, text.data(), text.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0 && errno == EAGAIN) {
      pollfd waiting{fd, POLLOUT, 0};
      ::poll(&waiting, 1, -1);
      continue;
    }
    if (n == 0) errno = EIO;
    if (n <= 0) return false;
    text.remove_prefix(static_cast<std::size_t>(n));
  }
  return true;
}

std::size_t raise_open_files() {
  rlimit files{};
  if (::getrlimit(RLIMIT_NOFILE, &files) != 0) return kernel_default;
  rlimit raised = files;
  raised.rlim_cur = raised.rlim_max;
  const rlim_t now = ::setrlimit(RLIMIT_NOFILE, &raised) == 0 ? raised.rlim_cur : files.rlim_cur;
  return std::min(now, kernel_default);
}

}  // namespace toprun
