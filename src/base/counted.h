#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace toprun {

// "1 node", "2 nodes", "3 switches".
std::string counted(std::int64_t count, std::string_view noun);

}  // namespace toprun
