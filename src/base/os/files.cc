#include "base/os/files.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>

#include "base/os/console.h"
#include "base/os/fd.h"
#include "base/os/trust.h"

namespace toprun {
namespace fs = std::filesystem;
namespace {

// Root could replace a device by a file.
bool is_another_kind_than_plain(const std::filesystem::path& path) {
  struct stat status {};
  return ::lstat(path.c_str(), &status) == 0 && !S_ISREG(status.st_mode);
}

}  // namespace

bool is_special(const fs::path& path) {
  std::error_code error;
  const auto type = fs::status(path, error).type();
  return type == fs::file_type::fifo || type == fs::file_type::character ||
         type == fs::file_type::block || type == fs::file_type::socket;
}

Result<void> write_named_file(const fs::path& path, std::string_view content) {
  if (!path.has_filename()) {
    return fail("cannot write " + path.string(), "it is not a file's name",
                "leave out the / at the end, or add a name");
  }
  if (is_special(path)) return write_through(path, content);
  auto replaced = replace_file(path, content);
  std::error_code error;
  if (replaced || !fs::is_regular_file(path, error)) return replaced;
  return write_through(path, content);
}

Result<void> check_named_file(const fs::path& path) {
  std::error_code error;
  const std::string what = "cannot write " + path.string();
  if (fs::is_directory(path, error)) return fail(what, "it is a folder", "name a file");
  const fs::path parent = path.parent_path();
  const std::string folder = parent.empty() ? "." : parent.string();
  const bool is_replaced = fs::exists(path, error) && ::access(path.c_str(), W_OK) == 0;
  if (is_replaced || ::access(folder.c_str(), W_OK | X_OK) == 0) return {};
  return fail_errno(what);
}

Result<void> write_and_say(const std::string& path, std::string_view content) {
  auto written = write_named_file(path, content);
  if (written) say("wrote " + path);
  return written;
}

Result<std::string> read_open_file(const Fd& fd, const std::filesystem::path& path,
                                   std::size_t limit_bytes) {
  if (!fd) return fail_errno("cannot read " + path.string());
  const auto too_large = [&] {
    return fail("cannot read " + path.string(),
                fmt::format("the file is larger than {} bytes", limit_bytes));
  };
  struct stat status {};
  const bool is_reported = ::fstat(fd.get(), &status) == 0 && S_ISREG(status.st_mode);
  if (is_reported && static_cast<std::size_t>(status.st_size) > limit_bytes) return too_large();
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
  const std::string what = "cannot write " + path.string();
  const auto target = follow_own_links(path, ::geteuid());
  if (!target) return fail(what, target.error().line());
  if (is_another_kind_than_plain(*target)) return fail(what, "it is not a plain file");
  const std::string temporary = fmt::format("{}.{}.tmp", target->string(), random_name());
  const Fd file(::open(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666));
  if (!file) return fail_errno(what);
  int code = write_all(file.get(), content) ? 0 : errno;
  if (code == 0 && ::rename(temporary.c_str(), target->c_str()) != 0) code = errno;
  if (code == 0) return {};
  ::unlink(temporary.c_str());
  return fail_errno(code, what);
}

Result<void> write_through(const std::filesystem::path& path, std::string_view content) {
  const std::string what = "cannot write " + path.string();
  const auto target = follow_own_links(path, ::geteuid());
  if (!target) return fail(what, target.error().line());
  struct stat status {};
  const bool is_there = ::lstat(target->c_str(), &status) == 0;
  const bool is_file = is_there && S_ISREG(status.st_mode);
  if (is_file && status.st_uid != ::geteuid() && status.st_uid != 0) {
    return fail(what, fmt::format("it belongs to user {}", status.st_uid), "name another file");
  }
  const bool is_descriptor = is_there && S_ISLNK(status.st_mode);  // a descriptor's link in /proc
  const Fd file(::open(target->c_str(), O_WRONLY | O_TRUNC | O_NOCTTY | O_CLOEXEC |
                                            (is_descriptor ? 0 : O_NOFOLLOW)));
  if (!file) return fail_errno(what);
  if (const int code = write_all(file.get(), content) ? 0 : errno; code != 0)
    return fail_errno(code, what);
  return {};
}

Result<std::string> read_plain_file(const std::filesystem::path& path, std::size_t limit_bytes) {
  const Fd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
  struct stat status {};
  if (fd && ::fstat(fd.get(), &status) == 0 && !S_ISREG(status.st_mode)) {
    return fail("cannot read " + path.string(), "it is not a regular file");
  }
  return read_open_file(fd, path, limit_bytes);
}

}  // namespace toprun
