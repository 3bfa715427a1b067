#include "observe/report/columns.h"

#include <fmt/format.h>

#include <algorithm>
#include <span>

#include "base/os/style.h"
#include "base/text/text.h"

namespace toprun::report {
namespace {

constexpr std::string_view between_parts = " | ";

// The bytes of the first `columns` columns.
std::size_t bytes_of(std::string_view text, std::size_t columns) {
  std::size_t bytes = 0;
  for (; columns > 0 && bytes < text.size(); --columns) {
    bytes += first_character(text.substr(bytes)).bytes.size();
  }
  return bytes;
}

// Where the first line ends: before a blank, or else in a word that is too long.
std::size_t end_of_line(std::string_view text, std::size_t width) {
  const std::size_t end = bytes_of(text, width);
  if (end == text.size() || text[end] == ' ') return end;
  const std::size_t blank = text.substr(0, end).rfind(' ');
  return blank == std::string_view::npos || blank == 0 ? end : blank;
}

// The beginning and the end of a longer text, cut between words where those are short.
std::string ends_of(std::string_view text, std::size_t width) {
  constexpr std::size_t longest_cut = 12;
  constexpr std::string_view gap = "…";
  const std::string both = both_ends(text, width);
  std::size_t middle = both.find(gap);
  while (middle != both.npos && text.substr(middle).starts_with(gap)) {
    middle = both.find(gap, middle + gap.size());  // the text's own
  }
  if (columns_of(text) <= width || middle == both.npos) return both;
  std::string_view front = std::string_view(both).substr(0, middle);
  std::string_view back = std::string_view(both).substr(middle + gap.size());
  const std::size_t last = front.rfind(' ');
  const bool cuts_front = text[front.size()] != ' ';
  if (cuts_front && last != front.npos && front.size() - last <= longest_cut) {
    front = front.substr(0, last + 1);
  }
  const std::size_t first = back.find(' ');
  const bool cuts_back = text[text.size() - back.size() - 1] != ' ';
  if (cuts_back && first != back.npos && first <= longest_cut) back.remove_prefix(first);
  return fmt::format("{}{}{}", front, gap, back);
}

std::string_view without_blanks_before(std::string_view text) {
  return text.substr(std::min(text.find_first_not_of(' '), text.size()));
}

}  // namespace

std::vector<std::string> wrapped(std::string_view text, std::size_t width, std::size_t most) {
  if (width == 0) return {std::string(text)};
  std::vector<std::string> lines;
  while (!text.empty()) {
    const bool is_last = most > 0 && lines.size() + 1 == most;
    if (is_last || columns_of(text) <= width) {
      lines.push_back(ends_of(text, width));
      break;
    }
    const std::size_t end = end_of_line(text, width);
    lines.emplace_back(text.substr(0, end));
    text = without_blanks_before(text.substr(end));
  }
  return lines;
}

std::vector<std::string> wrapped(const std::vector<std::string>& parts, std::size_t width,
                                 std::size_t most) {
  std::vector<std::string> lines;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const bool fits =
        !lines.empty() &&
        columns_of(lines.back()) + between_parts.size() + columns_of(parts[i]) <= width;
    if (fits) {
      lines.back().append(between_parts).append(parts[i]);
    } else if (most > 0 && lines.size() + 1 == most) {
      lines.push_back(both_ends(join(std::span(parts).subspan(i), between_parts), width));
      break;
    } else {
      lines.push_back(both_ends(parts[i], width));
    }
  }
  return lines;
}

std::string beginning(std::string_view text, std::size_t width) {
  if (columns_of(text) <= width) return std::string(text);
  return width == 0 ? "" : std::string(text.substr(0, bytes_of(text, width - 1))) + "…";
}

std::string columns_text(const std::vector<std::vector<std::string>>& rows,
                         const std::vector<std::size_t>& right) {
  std::vector<std::size_t> widths;
  for (const auto& row : rows) {
    widths.resize(std::max(widths.size(), row.size()));
    for (std::size_t i = 0; i < row.size(); ++i)
      widths[i] = std::max(widths[i], columns_of(row[i]));
  }
  std::string out;
  for (const auto& row : rows) {
    std::string line;
    for (std::size_t i = 0; i < row.size(); ++i) {
      const std::string blanks(widths[i] - columns_of(row[i]), ' ');
      if (i > 0) line += "  ";
      line += std::ranges::find(right, i) == right.end() ? row[i] + blanks : blanks + row[i];
    }
    out += line.substr(0, line.find_last_not_of(' ') + 1) + '\n';
  }
  return out;
}

std::vector<std::vector<std::string>> without_empty_columns(
    std::vector<std::vector<std::string>> rows) {
  if (rows.size() < 2) return rows;
  for (std::size_t i = rows.front().size(); i-- > 0;) {
    const bool has_text =
        std::any_of(rows.begin() + 1, rows.end(), [&](const auto& row) { return !row[i].empty(); });
    if (has_text) continue;
    for (auto& row : rows) row.erase(row.begin() + static_cast<std::ptrdiff_t>(i));
  }
  return rows;
}

}  // namespace toprun::report
