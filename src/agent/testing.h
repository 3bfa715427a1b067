#pragma once

#include <chrono>

namespace toprun::agent {

inline constexpr std::chrono::seconds test_limit{30};

}  // namespace toprun::agent
