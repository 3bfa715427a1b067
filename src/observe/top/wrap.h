#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

// Text on as many lines as it takes; pure.
namespace toprun::top {

// Printable text in lines of at most `width` columns, cut between words where it can be: at most
// `most` lines (0: all), and the last of them keeps the beginning and the end of the rest.
std::vector<std::string> wrapped(std::string_view text, std::size_t width, std::size_t most);

// The same of parts, which stay whole where they can: "a | b".
std::vector<std::string> wrapped(const std::vector<std::string>& parts, std::size_t width,
                                 std::size_t most);

// Printable text in at most `width` columns; of what is longer the beginning and "…".
std::string beginning(std::string_view text, std::size_t width);

}  // namespace toprun::top
