#pragma once

#include "cli/options/call.h"

namespace toprun::cli {

// `toprun eta [ID]`: when waiting jobs are expected to start, and what keeps them waiting.
Result<int> run_eta(const options::Call& call);

}  // namespace toprun::cli
