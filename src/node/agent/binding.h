#pragma once

#include <vector>

#include "base/text/error.h"
#include "node/plan/job.h"
#include "run/model/messages.h"

namespace toprun::agent {

// The CPUs of each worker of this process, as --numa-binding assigns them; empty without the
// option. Reads the machine's topology. Prints every worker's CPUs with -v, and always on a machine
// without GPUs.
Result<std::vector<std::vector<int>>> bind_workers(const plan::Job& job,
                                                   const model::Assignment& assignment);

}  // namespace toprun::agent
