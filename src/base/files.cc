#include "base/files.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>

#include "base/fd.h"

namespace toprun {

Result<std::string> read_file(const std::filesystem::path& path, std::size_t limit_bytes) {
  const Fd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!fd) return fail_errno("cannot read " + path.string());
  std::string content;
  char buffer[16384];
  for (;;) {
    const ssize_t n = ::read(fd.get(), buffer, sizeof buffer);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return fail_errno("cannot read " + path.string());
    if (n == 0) return content;
    content.append(buffer, static_cast<std::size_t>(n));
    if (content.size() > limit_bytes) {
      return fail("cannot read " + path.string(), fmt::format("larger than {} bytes", limit_bytes));
    }
  }
}

}  // namespace toprun
