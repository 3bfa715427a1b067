#pragma once

#include "cli/options/call.h"

namespace toprun::cli {

// `toprun jobs`: the waiting and running jobs in the engine's queue, the caller's own unless --all
// is given.
Result<int> run_jobs(const options::Call& call);

}  // namespace toprun::cli
