#pragma once

#include <fmt/format.h>

#include <cstddef>
#include <string>
#include <string_view>

namespace toprun::topology {

// A place in a text, both from 1.
struct Position {
  std::size_t line = 1;
  std::size_t column = 1;
};

// "racks.toml:3:5", as errors name a place.
inline std::string at(std::string_view file, Position position) {
  return fmt::format("{}:{}:{}", file, position.line, position.column);
}

// "racks.toml:3", as evidence names it.
inline std::string at_line(std::string_view file, std::size_t line) {
  return fmt::format("{}:{}", file, line);
}

}  // namespace toprun::topology
