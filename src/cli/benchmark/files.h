#pragma once

#include <string>
#include <string_view>

#include "bench/tables/measurement.h"
#include "cli/options/call.h"

namespace toprun::benchmark {

// `toprun bench compare BEFORE AFTER`: what became slower or faster. Exit code: exit_found if
// something became slower by more than its own spread, or without one by far
// (bench::share_without_spread); with --fail-below, if something has a smaller share of its speed
// before, whatever the spread.
Result<int> run_bench_compare(const options::Call& call);
// `toprun bench import FILE`: what another program measured, in one of our formats.
Result<int> run_bench_import(const options::Call& call);

// The whole report in a format of --format.
std::string formatted(const bench::Report& report, std::string_view format);

}  // namespace toprun::benchmark
