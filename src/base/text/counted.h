#pragma once

#include <concepts>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace toprun {

std::string counted_text(std::int64_t count, std::string_view noun);

// "1 node", "2 nodes", "3 switches".
template <std::integral Count>
std::string counted(Count count, std::string_view noun) {
  return counted_text(static_cast<std::int64_t>(count), noun);
}

// Ascending numbers as a list of ranges: "0-2,4,6-7". After `most` ranges, the text ends with the
// number of the other numbers: "9 more".
std::string ranges_text(std::span<const int> numbers, std::size_t most = std::string::npos);

// Bytes in a binary unit. The number has three significant digits, unless it is whole: "512 B", "1
// KiB", "1.50 MiB", "12.3 GiB".
std::string bytes_text(double bytes);

}  // namespace toprun
