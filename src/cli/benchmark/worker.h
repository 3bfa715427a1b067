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

// One rank of the measurement: argv behind that word is bench's own part of its command line. Rank
// 0 prints the table. If a backend is wanted that is not among `backends`, the program that has it
// takes this process over. Returns the exit code.
int run_worker(const std::vector<std::string>& argv, const Environment& environment,
               std::span<const measure::NamedBackend> backends);

}  // namespace toprun::benchmark
