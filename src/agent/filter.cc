#include "agent/filter.h"

#include <algorithm>

#include "agent/lines.h"

namespace toprun::agent {

std::string Filter::add(std::string_view text) {
  std::string out;
  while (!text.empty()) {
    const std::size_t end = end_of_first_line(text);
    const std::string_view piece = text.substr(0, end);
    text.remove_prefix(end);
    const bool whole = ends_line(piece.back());
    if (whole && begun_.empty()) {
      append_if_matching(piece, out);
      continue;
    }
    begun_ += piece;
    if (whole || begun_.size() >= longest_line_bytes) out += flush();
  }
  return out;
}

std::string Filter::flush() {
  std::string out;
  if (!begun_.empty()) append_if_matching(begun_, out);
  begun_.clear();
  return out;
}

void Filter::append_if_matching(std::string_view line, std::string& out) const {
  while (!line.empty() && ends_line(line.back())) line.remove_suffix(1);
  const auto holds = [line](const std::string& needle) {
    return line.find(needle) != std::string_view::npos;
  };
  if (!std::ranges::any_of(needles_, holds)) return;
  out.append(prefix_).append(line) += '\n';
}

}  // namespace toprun::agent
