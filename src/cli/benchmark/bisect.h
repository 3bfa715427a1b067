#pragma once

#include <string>
#include <vector>

#include "base/os/environment.h"
#include "bench/measure/join.h"
#include "cli/benchmark/request.h"

namespace toprun::benchmark {

// Error (exit_usage): what --bisect cannot go with.
Result<void> check_bisect(const options::Call& call, const BenchRequest& request);

// Every rank's part in `toprun bench COLLECTIVE --bisect`; `argv` is its own. The exit code on rank
// 0: failure if something was found.
Result<int> run_bisect(const std::vector<std::string>& argv, const BenchRequest& request,
                       measure::Group& group, const Environment& environment);

}  // namespace toprun::benchmark
