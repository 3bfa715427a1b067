#pragma once

#include <string_view>

namespace toprun {

// The version in the build file, as in "0.1.0".
inline constexpr std::string_view version = TOPRUN_VERSION;

}  // namespace toprun
