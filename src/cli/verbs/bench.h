#pragma once

#include <string_view>

#include "base/text/error.h"
#include "cli/options/call.h"

namespace toprun::cli {

// `toprun bench COLLECTIVE`: a launch whose ranks are cli/benchmark/worker.h's.
Result<int> run_bench(const options::Call& call);

}  // namespace toprun::cli
