#include "node/prepare/stage/open_tree.h"

#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>

namespace toprun::stage {

Fd OpenTree::open(const std::string& path, int flags, unsigned mode) const {
  const std::string name = below(path);
  open_how how{};
  how.flags = static_cast<std::uint64_t>(flags) | O_CLOEXEC | O_NOFOLLOW;
  how.mode = (flags & O_CREAT) != 0 ? mode : 0;
  how.resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS;
  const long fd = ::syscall(SYS_openat2, folder_.get(), name.c_str(), &how, sizeof how);
  if (fd >= 0) return Fd(static_cast<int>(fd));
  // Linux before 5.6, or a filter of system calls.
  if (errno != ENOSYS && errno != EPERM) return {};
  return Fd(::openat(folder_.get(), name.c_str(), flags | O_CLOEXEC | O_NOFOLLOW, mode));
}

}  // namespace toprun::stage
