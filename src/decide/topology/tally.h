#pragma once

#include <fmt/format.h>

#include <cstddef>
#include <string>
#include <string_view>

namespace toprun::topology {

// Counts events of one kind for a single warning, and keeps the first event.
struct Tally {
  std::size_t count = 0;
  std::string first;

  void add(const std::string& text) {
    if (count++ == 0) first = text;
  }
  std::string text(std::string_view things) const {
    return count == 1 ? first : fmt::format("{} ({} such {})", first, count, things);
  }
};

}  // namespace toprun::topology
