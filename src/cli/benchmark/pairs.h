#pragma once

#include "base/os/environment.h"
#include "bench/measure/join.h"
#include "cli/options/call.h"

namespace toprun::benchmark {

// Runs one rank of `toprun bench pairs`, which measures pairs of ranks and reports which node or
// link is slow. Rank 0 prints the verdict. Exit code: failure if a node or link is slow.
Result<int> run_pairs(const options::Call& call, measure::Group& group);

// Checks the call before anything is started.
Result<void> check_pairs(const options::Call& call);

}  // namespace toprun::benchmark
