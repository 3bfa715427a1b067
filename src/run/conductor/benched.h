#pragma once

namespace toprun::run {

// The size of the job in the benchmarks: 100,000 ranks.
inline constexpr int nodes = 12'500;
inline constexpr int slots = 8;

}  // namespace toprun::run
