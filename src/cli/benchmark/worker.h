#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/os/environment.h"
#include "bench/measure/backend.h"
#include "bench/measure/join.h"
#include "cli/benchmark/request.h"
#include "cli/options/call.h"

namespace toprun::benchmark {

// The value of argv[1] for a rank that `toprun bench` launches.
inline constexpr std::string_view worker_word = "bench-worker";

// Runs one rank of the measurement. The words in `argv` after worker_word are options of `toprun
// bench`. Rank 0 prints the table. If the measurement needs a backend that is not in `backends`,
// run_worker() replaces this process by the program that contains the backend. Returns the exit
// code.
int run_worker(const std::vector<std::string>& argv, const Environment& environment,
               std::span<const measure::NamedBackend> backends);

// Checks the command line of `toprun bench pairs`, before any rank is started.
Result<void> check_pairs(const options::Call& call);
// Runs one rank of `toprun bench pairs`, which measures pairs of ranks and reports which node or
// link is slow. Rank 0 prints the verdict. The exit code is exit_found if a node or link is slow.
Result<int> run_pairs(const options::Call& call, measure::Group& group);

// Checks that the other options can be combined with --bisect, if it is given. Error (exit_usage):
// an option that cannot be combined with --bisect.
Result<void> check_bisect(const options::Call& call, const BenchRequest& request);
// Runs one rank of `toprun bench COLLECTIVE --bisect`. `argv` is the rank's own command line.
// Returns the exit code. On rank 0, the exit code is exit_found if a bad node or link was found.
Result<int> run_bisect(const std::vector<std::string>& argv, const BenchRequest& request,
                       measure::Group& group, const Environment& environment);

}  // namespace toprun::benchmark
