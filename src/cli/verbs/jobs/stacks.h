#pragma once

#include "base/text/error.h"
#include "cli/options/call.h"

namespace toprun::cli {

// `toprun stacks [JOB]`: asks a running job where its ranks stand; nothing of it stops or changes.
Result<int> run_stacks(const options::Call& call);

}  // namespace toprun::cli
