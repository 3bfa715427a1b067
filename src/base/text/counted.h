#pragma once

#include <concepts>
#include <cstdint>
#include <string>
#include <string_view>

namespace toprun {

std::string counted_text(std::int64_t count, std::string_view noun);

// "1 node", "2 nodes", "3 switches".
template <std::integral Count>
std::string counted(Count count, std::string_view noun) {
  return counted_text(static_cast<std::int64_t>(count), noun);
}

}  // namespace toprun
