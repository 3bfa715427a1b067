#pragma once

#include "cli/options/call.h"

namespace toprun::cli {

// `toprun logs ID`: what a job has printed, with -f until its end.
Result<int> run_logs(const options::Call& call);

}  // namespace toprun::cli
