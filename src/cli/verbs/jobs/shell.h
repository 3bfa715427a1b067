#pragma once

#include "cli/options/call.h"

namespace toprun::cli {

// `toprun shell`: an interactive allocation, or with --attach a shell in a job that runs. Returns
// the shell's exit code.
Result<int> run_shell(const options::Call& call);

}  // namespace toprun::cli
