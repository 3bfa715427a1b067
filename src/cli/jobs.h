#pragma once

#include "options/call.h"

namespace toprun::cli {

// `toprun jobs`: what waits and runs in the engine's queue, the caller's own unless --all is given.
Result<int> run_jobs(const options::Call& call);

}  // namespace toprun::cli
