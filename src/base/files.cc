#include "base/files.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "base/fd.h"

namespace toprun {

Result<std::string> read_open_file(const Fd& fd, const std::filesystem::path& path,
                                   std::size_t limit_bytes) {
  if (!fd) return fail_errno("cannot read " + path.string());
  const auto too_large = [&] {
    return fail("cannot read " + path.string(), fmt::format("larger than {} bytes", limit_bytes));
  };
  struct stat status {};
  const bool is_told = ::fstat(fd.get(), &status) == 0 && S_ISREG(status.st_mode);
  if (is_told && static_cast<std::size_t>(status.st_size) > limit_bytes) return too_large();
  std::string content;
  char buffer[16384];
  for (;;) {
    const ssize_t n = ::read(fd.get(), buffer, sizeof buffer);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return fail_errno("cannot read " + path.string());
    if (n == 0) return content;
    content.append(buffer, static_cast<std::size_t>(n));
    if (content.size() > limit_bytes) return too_large();
  }
}

Result<std::string> read_file(const std::filesystem::path& path, std::size_t limit_bytes) {
  const Fd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  return read_open_file(fd, path, limit_bytes);
}

Result<void> replace_file(const std::filesystem::path& path, std::string_view content) {
  std::error_code error;
  std::filesystem::path target = std::filesystem::canonical(path, error);
  if (error) target = path;
  const std::string temporary = fmt::format("{}.{}.tmp", target.string(), ::getpid());
  const Fd file(::open(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666));
  if (!file) return fail_errno("cannot write " + temporary);
  while (!content.empty()) {
    const ssize_t n = ::write(file.get(), content.data(), content.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) {
      const int code = errno;
      ::unlink(temporary.c_str());
      return fail_errno(code, "cannot write " + temporary);
    }
    content.remove_prefix(static_cast<std::size_t>(n));
  }
  if (::rename(temporary.c_str(), target.c_str()) == 0) return {};
  const int code = errno;
  ::unlink(temporary.c_str());
  return fail_errno(code, "cannot replace " + target.string());
}

Result<std::string> read_plain_file(const std::filesystem::path& path, std::size_t limit_bytes) {
  const Fd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
  struct stat status {};
  if (fd && ::fstat(fd.get(), &status) == 0 && !S_ISREG(status.st_mode)) {
    return fail("cannot read " + path.string(), "it is no plain file");
  }
  return read_open_file(fd, path, limit_bytes);
}

}  // namespace toprun
