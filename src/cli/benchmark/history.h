#pragma once

#include "base/os/environment.h"
#include "bench/tables/measurement.h"
#include "cli/options/call.h"

namespace toprun::benchmark {

// Appends a line to the history of `toprun bench --history` and returns the file's path:
// bench.jsonl in $XDG_STATE_HOME or ~/.local/state. Error: neither folder is known, or writing
// failed.
Result<std::string> add_to_history(const bench::Report& report, const Environment& environment);

// `toprun bench history`: shows the content of this file or of another one.
Result<int> run_bench_history(const options::Call& call);

}  // namespace toprun::benchmark
