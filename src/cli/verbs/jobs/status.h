#pragma once

#include "cli/options/call.h"

namespace toprun::cli {

// `toprun status ID`: all that is known of one job, the engine's part and the run's own report.
Result<int> run_status(const options::Call& call);

}  // namespace toprun::cli
