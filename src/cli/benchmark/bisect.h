#pragma once

#include <string>
#include <vector>

#include "base/os/environment.h"
#include "bench/measure/join.h"
#include "cli/benchmark/request.h"

namespace toprun::benchmark {

// Checks the options together with --bisect. Error (exit_usage): an option that --bisect excludes.
Result<void> check_bisect(const options::Call& call, const BenchRequest& request);

// Runs one rank of `toprun bench COLLECTIVE --bisect`. `argv` is the rank's own command line.
// Returns the exit code; on rank 0 a failure if a slow node or link was found.
Result<int> run_bisect(const std::vector<std::string>& argv, const BenchRequest& request,
                       measure::Group& group, const Environment& environment);

}  // namespace toprun::benchmark
