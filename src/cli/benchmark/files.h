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

// This variable of a rank names the host on which `toprun bench` was typed. Ranks get no variables
// TOPRUN_… of the user.
inline constexpr std::string_view typed_on_variable = "BENCH_TYPED_ON";
// Returns " on HOST" with this host's name in the job if `toprun bench` was typed on another host,
// else nothing. Rank 0 writes files on its own host.
std::string where_written(const Environment& environment);
// Writes a file of results on rank 0's host, and says so on stderr.
Result<void> write_result(const std::string& file, std::string_view content,
                          const Environment& environment);

// Waits until a pipe at `output`, stdout or stderr, is empty, so that its reader shows this text
// before the text that follows on the other one. Gives up after half a second.
void await_is_read(int output);

// Appends a line to the history file of `toprun bench --history` and returns the file's path:
// toprun/bench.jsonl in $XDG_STATE_HOME or ~/.local/state. Error: neither XDG_STATE_HOME nor HOME
// is set, or writing failed.
Result<std::string> add_to_history(const bench::Report& report, const Environment& environment);

// Returns the whole benchmark report in one of the formats of --format.
std::string formatted(const bench::Report& report, std::string_view format);

}  // namespace toprun::benchmark
