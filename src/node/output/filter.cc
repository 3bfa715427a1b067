#include "node/output/filter.h"

#include <algorithm>
#include <cstring>

#include "node/output/lines.h"

namespace toprun::output {

std::string Filter::add(std::string_view text) {
  std::string out;
  if (text.empty()) return out;
  // Fast path: most text contains no needle, so the lines need not be split.
  if (begun_.empty() && ends_line(text.back()) && !matches(text)) return out;
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

bool Filter::matches(std::string_view text) const {
  return std::ranges::any_of(needles_, [text](const std::string& needle) {
    return ::memmem(text.data(), text.size(), needle.data(), needle.size()) != nullptr;
  });
}

void Filter::append_if_matching(std::string_view line, std::string& out) const {
  while (!line.empty() && ends_line(line.back())) line.remove_suffix(1);
  if (!matches(line)) return;
  out.append(prefix_).append(line) += '\n';
}

}  // namespace toprun::output
