#include "base/text/counted.h"

#include <fmt/format.h>

#include <array>
#include <cmath>
#include <iterator>
#include <vector>

#include "base/text/text.h"

namespace toprun {

std::string counted_text(std::int64_t count, std::string_view noun) {
  const bool takes_es = noun.ends_with('s') || noun.ends_with('x') || noun.ends_with("ch");
  return fmt::format("{} {}{}", count, noun, count == 1 ? "" : takes_es ? "es" : "s");
}

std::string bytes_text(double bytes) {
  constexpr std::array units = {"B", "KiB", "MiB", "GiB", "TiB", "PiB"};
  std::size_t unit = 0;
  for (; bytes >= 1024 && unit + 1 < units.size(); ++unit) bytes /= 1024;
  const int decimals = bytes >= 100 || bytes == std::floor(bytes) ? 0 : bytes >= 10 ? 1 : 2;
  return fmt::format("{:.{}f} {}", bytes, decimals, units[unit]);
}

std::string ranges_text(std::span<const int> numbers, std::size_t most) {
  std::vector<std::string> parts;
  for (auto first = numbers.begin(); first != numbers.end();) {
    auto last = first;
    while (std::next(last) != numbers.end() && *std::next(last) == *last + 1) ++last;
    if (parts.size() == most) {
      parts.push_back(fmt::format("{} more", std::distance(first, numbers.end())));
      break;
    }
    parts.push_back(first == last ? fmt::to_string(*first) : fmt::format("{}-{}", *first, *last));
    first = std::next(last);
  }
  return join(parts, ",");
}

}  // namespace toprun
