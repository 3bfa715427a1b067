#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

// Text wrapped into lines; pure functions.
namespace toprun::report {

// Printable text in lines of at most `width` columns, cut between words if possible. There are at
// most `most` lines (0: no limit). If the text is longer, the last line contains the beginning and
// the end of the remaining text.
std::vector<std::string> wrapped(std::string_view text, std::size_t width, std::size_t most);

// Like the function above, for several parts, which are not split if possible: "a | b".
std::vector<std::string> wrapped(const std::vector<std::string>& parts, std::size_t width,
                                 std::size_t most);

// Printable text in at most `width` columns. A longer text is cut and ends with "…".
std::string beginning(std::string_view text, std::size_t width);

}  // namespace toprun::report
