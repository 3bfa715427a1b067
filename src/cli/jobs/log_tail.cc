#include "cli/jobs/log_tail.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>

#include "base/os/fd.h"

namespace toprun::jobs {
namespace {

constexpr std::size_t bytes_at_once = 1u << 20;

}  // namespace

LogTail::LogTail(std::string path, std::string prefix, bool whole_lines, LineFilter filter)
    : path_(std::move(path)),
      prefix_(std::move(prefix)),
      whole_lines_(whole_lines || !prefix_.empty() || filter),
      filter_(std::move(filter)) {}

bool LogTail::read_new(std::string& text) {
  text.clear();
  const Fd file(::open(path_.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  struct stat status {};
  if (!file || ::fstat(file.get(), &status) != 0 || !S_ISREG(status.st_mode)) return false;
  const bool other = status.st_ino != inode_;
  if (other || static_cast<std::uint64_t>(status.st_size) < offset_) offset_ = 0;
  inode_ = status.st_ino;
  std::string bytes(bytes_at_once, '\0');
  const ssize_t n = ::pread(file.get(), bytes.data(), bytes.size(), static_cast<off_t>(offset_));
  if (n <= 0) return false;
  offset_ += static_cast<std::uint64_t>(n);
  bytes.resize(static_cast<std::size_t>(n));
  text = shown(bytes);
  return true;
}

std::string LogTail::shown_line(std::string_view line) const {
  return filter_ && !filter_(line) ? std::string() : fmt::format("{}{}\n", prefix_, line);
}

std::string LogTail::shown(std::string_view bytes) {
  if (!whole_lines_) {
    ended_ = bytes.ends_with('\n');
    return std::string(bytes);
  }
  std::string out;
  begun_ += bytes;
  std::string_view left = begun_;
  for (;;) {
    std::size_t end = left.find('\n');
    if (end == std::string_view::npos && left.size() < max_line_bytes) break;
    end = std::min(end, max_line_bytes);
    out += shown_line(left.substr(0, end));
    left.remove_prefix(end < left.size() && left[end] == '\n' ? end + 1 : end);
  }
  begun_ = std::string(left);
  return out;
}

std::string LogTail::rest() {
  if (!whole_lines_) return std::exchange(ended_, true) ? std::string() : "\n";
  if (begun_.empty()) return {};
  return shown_line(std::exchange(begun_, {}));
}

}  // namespace toprun::jobs
