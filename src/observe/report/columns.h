#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace toprun::report {

// Splits a printable text into lines of at most `width` columns, between words if possible. There
// are at most `most` lines (0: no limit). If the text is longer, the last line contains the
// beginning and the end of the remaining text.
std::vector<std::string> wrapped(std::string_view text, std::size_t width, std::size_t most);

// Joins parts as "a | b" and breaks lines only between parts. Too long parts are shortened.
std::vector<std::string> wrapped(const std::vector<std::string>& parts, std::size_t width,
                                 std::size_t most);

// Returns a printable text in at most `width` columns. A longer text is cut and ends with "…".
std::string beginning(std::string_view text, std::size_t width);

// Returns the rows as lines, in columns that are as wide as their widest cell and are separated by
// two blanks. The columns listed in `right` are right-aligned.
std::string columns_text(const std::vector<std::vector<std::string>>& rows,
                         const std::vector<std::size_t>& right);

// Returns the rows without the columns that are empty below the first row, the heading.
std::vector<std::vector<std::string>> without_empty_columns(
    std::vector<std::vector<std::string>> rows);

}  // namespace toprun::report
