#pragma once

#include "cli/options/call.h"

namespace toprun::cli {

// `toprun cancel ID...`: ends jobs, or sends them a signal.
Result<int> run_cancel(const options::Call& call);

}  // namespace toprun::cli
