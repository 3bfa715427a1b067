#pragma once

#include <fmt/format.h>

#include <cstddef>
#include <string>
#include <string_view>

namespace toprun::topology {

// A position in a text, line and column from 1.
struct Position {
  std::size_t line = 1;
  std::size_t column = 1;
};

// "racks.toml:3:5", the form in errors.
inline std::string at(std::string_view file, Position position) {
  return fmt::format("{}:{}:{}", file, position.line, position.column);
}

// "racks.toml:3", the form in evidence.
inline std::string at_line(std::string_view file, std::size_t line) {
  return fmt::format("{}:{}", file, line);
}

}  // namespace toprun::topology
