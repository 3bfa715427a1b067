#include "agent/lines.h"

#include <cstring>

namespace toprun::agent {
namespace {

bool ends_line(char c) {
  return c == '\n' || c == '\r';
}

// Past the last \n or \r, 0 if there is none.
std::size_t end_of_last_line(std::string_view bytes) {
  const void* const newline = bytes.empty() ? nullptr : ::memrchr(bytes.data(), '\n', bytes.size());
  const std::size_t end =
      newline == nullptr
          ? 0
          : static_cast<std::size_t>(static_cast<const char*>(newline) - bytes.data()) + 1;
  const std::size_t carriage_return = bytes.substr(end).rfind('\r');
  return carriage_return == std::string_view::npos ? end : end + carriage_return + 1;
}

// Past the end of the first line, \r\n counted as one end; the whole if it does not end.
std::size_t end_of_first_line(std::string_view bytes) {
  const std::size_t end = bytes.find_first_of("\r\n");
  if (end == std::string_view::npos) return bytes.size();
  const bool both = bytes[end] == '\r' && end + 1 < bytes.size() && bytes[end + 1] == '\n';
  return end + (both ? 2 : 1);
}

}  // namespace

std::string Lines::add(std::string_view bytes) {
  const std::size_t end = end_of_last_line(bytes);
  std::string out;
  if (end > 0) {
    out = compose(held_, bytes.substr(0, end));
    held_.clear();
  }
  held_.append(bytes.substr(end));
  if (held_.size() >= longest_held_bytes) out += flush();
  return out;
}

std::string Lines::flush() {
  std::string out = compose(held_, {});
  held_.clear();
  return out;
}

std::string Lines::compose(std::string_view first, std::string_view second) {
  std::string out;
  if (first.empty() && second.empty()) return out;
  const char last = second.empty() ? first.back() : second.back();
  out.reserve(1 + prefix_.size() + first.size() + second.size());
  if (cursor_.owner != Cursor::nobody && cursor_.owner != id_) out += '\n';
  bool at_start = cursor_.owner != id_;
  // A \n that arrives after its \r completes that line and is none of its own.
  if (first.empty() && after_return_ && second.front() == '\n') at_start = false;
  if (prefix_.empty()) {
    out.append(first).append(second);
  } else {
    append_prefixed(std::string(first).append(second), at_start, out);
  }
  cursor_.owner = ends_line(last) ? Cursor::nobody : id_;
  after_return_ = last == '\r';
  return out;
}

void Lines::append_prefixed(std::string_view piece, bool at_start, std::string& out) const {
  while (!piece.empty()) {
    const std::size_t end = end_of_first_line(piece);
    if (at_start) out += prefix_;
    out.append(piece.substr(0, end));
    at_start = ends_line(piece[end - 1]);
    piece.remove_prefix(end);
  }
}

}  // namespace toprun::agent
