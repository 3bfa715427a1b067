#pragma once

#include "base/os/environment.h"
#include "bench/tables/measurement.h"
#include "cli/options/call.h"

namespace toprun::benchmark {

// Where `toprun bench --history` adds a line: bench.jsonl below $XDG_STATE_HOME or ~/.local/state.
// Error: neither is known, or it cannot be written.
Result<std::string> add_to_history(const bench::Report& report, const Environment& environment);

// `toprun bench history`: what that file, or another, holds.
Result<int> run_bench_history(const options::Call& call);

}  // namespace toprun::benchmark
