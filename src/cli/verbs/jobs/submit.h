#pragma once

#include "cli/options/call.h"

namespace toprun::cli {

// `toprun submit`: writes a batch script, keeps it beside the logs, submits it and prints the job's
// id. Returns the exit code; with --wait the job's.
Result<int> run_submit(const options::Call& call);

}  // namespace toprun::cli
