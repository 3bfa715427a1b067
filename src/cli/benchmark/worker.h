#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/os/environment.h"
#include "bench/measure/backend.h"

namespace toprun::benchmark {

// argv[1] of a rank that `toprun bench` launches.
inline constexpr std::string_view worker_word = "bench-worker";

// Runs one rank of the measurement. The words of argv after worker_word are the options of bench.
// Rank 0 prints the table. If the call needs a backend that is not in `backends`, this process
// executes the program that contains it. Returns the exit code.
int run_worker(const std::vector<std::string>& argv, const Environment& environment,
               std::span<const measure::NamedBackend> backends);

}  // namespace toprun::benchmark
