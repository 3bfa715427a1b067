#include "observe/report/columns.h"

#include <algorithm>

#include "base/os/style.h"

namespace toprun::report {

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
