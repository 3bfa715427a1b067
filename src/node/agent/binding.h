#pragma once

#include <vector>

#include "base/text/error.h"
#include "node/plan/job.h"
#include "run/model/messages.h"

namespace toprun::agent {

// The CPUs of each worker of this process according to --numa-binding; empty without it. Reads the
// machine's topology. Reports every worker's CPUs with -v, and always if there are no GPUs.
Result<std::vector<std::vector<int>>> bind_workers(const plan::Job& job,
                                                   const model::Assignment& assignment);

}  // namespace toprun::agent
