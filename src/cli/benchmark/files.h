#pragma once

#include <string>
#include <string_view>

#include "base/os/environment.h"
#include "bench/tables/measurement.h"
#include "cli/options/call.h"

namespace toprun::benchmark {

// `toprun bench compare BEFORE AFTER`: shows which measurements became slower or faster. The exit
// code is exit_found if a measurement became slower (bench::Change). With --fail-below SHARE, the
// spread does not matter: the exit code is exit_found if a measurement is slower than SHARE of its
// earlier speed.
Result<int> run_bench_compare(const options::Call& call);
// `toprun bench import FILE`: converts another program's measurements to one of toprun's formats.
Result<int> run_bench_import(const options::Call& call);
// `toprun bench history`: shows the history file that add_to_history() writes, or another file of
// this format.
Result<int> run_bench_history(const options::Call& call);

// Appends a line to the history file of `toprun bench --history` and returns the file's path:
// toprun/bench.jsonl in $XDG_STATE_HOME or ~/.local/state. Error: neither XDG_STATE_HOME nor HOME
// is set, or writing failed.
Result<std::string> add_to_history(const bench::Report& report, const Environment& environment);

// Returns the whole benchmark report in one of the formats of --format.
std::string formatted(const bench::Report& report, std::string_view format);

}  // namespace toprun::benchmark
