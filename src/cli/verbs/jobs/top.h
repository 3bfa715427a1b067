#pragma once

#include "cli/options/call.h"

namespace toprun::cli {

// `toprun top [JOB]`: a running job, live on the terminal.
Result<int> run_top(const options::Call& call);

}  // namespace toprun::cli
