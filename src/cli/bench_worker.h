#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/environment.h"
#include "measure/backend.h"

namespace toprun::cli {

// argv[1] of a rank that `toprun bench` launches.
inline constexpr std::string_view bench_worker_word = "bench-worker";

// The program beside toprun whose ranks have these backends: those that need the system's libraries
// are not in toprun itself. Empty: toprun. Errors: it is not there; no program has all of them.
Result<std::string> bench_program(const std::vector<std::string>& backends);

// One rank of the measurement: argv behind that word is bench's own part of its command line. Rank
// 0 prints the table. If a backend is wanted that is not among `backends`, the program that has it
// takes this process over. Returns the exit code.
int run_bench_worker(const std::vector<std::string>& argv, const Environment& environment,
                     std::span<const measure::NamedBackend> backends);

}  // namespace toprun::cli
