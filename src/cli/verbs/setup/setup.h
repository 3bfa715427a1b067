#pragma once

#include "cli/options/call.h"

namespace toprun::cli {

// `toprun setup`: builds an environment as a job, or here.
Result<int> run_setup(const options::Call& call);

}  // namespace toprun::cli
