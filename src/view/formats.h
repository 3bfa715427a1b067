#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

#include "placement/order.h"

namespace toprun::view {

// A form in which an order is shown or handed to another program. To add one: a function and a row
// in formats.cc.
struct Format {
  std::string_view name;  // as --format takes it
  std::string_view help;  // one phrase
  // Whole lines; a node without processes is left out where the form lists processes.
  std::string (*text)(const placement::Placement&);
  bool line_per_rank = false;
};

inline constexpr std::size_t max_rank_lines = 10'000'000;  // in a form with a line per rank

// All forms, the default first.
std::span<const Format> formats();
const Format* find_format(std::string_view name);

}  // namespace toprun::view
