#pragma once

#include "base/os/environment.h"
#include "bench/measure/join.h"
#include "cli/options/call.h"

namespace toprun::benchmark {

// One rank of `toprun bench pairs`, which measures the ranks two by two and says which node or link
// is slow. Rank 0 prints the verdict; exit code: failure if there is one.
Result<int> run_pairs(const options::Call& call, measure::Group& group);

// What is wrong with the call, before anything is started.
Result<void> check_pairs(const options::Call& call);

}  // namespace toprun::benchmark
