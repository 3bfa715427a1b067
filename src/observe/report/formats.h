#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

#include "decide/placement/order.h"

namespace toprun::report {

// An output format for a node order, for users or programs. To add a format, add a function and a
// row in formats.cc.
struct Format {
  std::string_view name;  // the value of --format
  std::string_view help;  // one phrase
  // Returns whole lines. A format that lists processes omits nodes without processes.
  std::string (*text)(const placement::Placement&);
  bool line_per_rank = false;
};

inline constexpr std::size_t max_rank_lines = 10'000'000;  // limit for formats with a line per rank

// Returns all formats, the default first.
std::span<const Format> formats();
const Format* find_format(std::string_view name);

}  // namespace toprun::report
