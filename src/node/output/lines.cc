#include "node/output/lines.h"

#include <cstring>

namespace toprun::output {
namespace {

// The offset of the first \n or \r, or the size. All output of the ranks passes through here, so
// two memchr() searches replace find_first_of(), which tests every byte. The search runs in
// windows, so that many short lines with one kind of end do not each search all the rest for the
// other kind.
std::size_t first_line_end(std::string_view bytes) {
  constexpr std::size_t window_bytes = 256;
  for (std::size_t start = 0; start < bytes.size(); start += window_bytes) {
    const std::string_view window = bytes.substr(start, window_bytes);
    const std::size_t newline = std::min(window.find('\n'), window.size());
    const std::size_t end = std::min(window.substr(0, newline).find('\r'), newline);
    if (end < window.size()) return start + end;
  }
  return bytes.size();
}

}  // namespace

std::size_t end_of_last_line(std::string_view bytes) {
  const void* const newline = bytes.empty() ? nullptr : ::memrchr(bytes.data(), '\n', bytes.size());
  const std::size_t end =
      newline == nullptr
          ? 0
          : static_cast<std::size_t>(static_cast<const char*>(newline) - bytes.data()) + 1;
  const std::size_t carriage_return = bytes.substr(end).rfind('\r');
  return carriage_return == std::string_view::npos ? end : end + carriage_return + 1;
}

std::size_t end_of_first_line(std::string_view bytes) {
  const std::size_t end = first_line_end(bytes);
  if (end == bytes.size()) return end;
  const bool both = bytes[end] == '\r' && end + 1 < bytes.size() && bytes[end + 1] == '\n';
  return end + (both ? 2 : 1);
}

std::string Lines::add(std::string_view bytes) {
  const std::size_t end = end_of_last_line(bytes);
  std::string out;
  if (end > 0) {
    out.reserve(held_.size() + end);
    out.append(held_).append(bytes.substr(0, end));
    held_.clear();
  }
  held_.append(bytes.substr(end));
  if (held_.size() >= longest_held_bytes) out += flush();
  return out;
}

std::string Lines::flush() {
  return std::exchange(held_, {});
}

}  // namespace toprun::output
