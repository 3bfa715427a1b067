#pragma once

#include "cli/options/call.h"

namespace toprun::cli {

// `toprun grow JOB`: an elastic job takes in the nodes that wait.
Result<int> run_grow(const options::Call& call);

}  // namespace toprun::cli
