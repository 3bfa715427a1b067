#pragma once

#include <vector>

#include "base/error.h"
#include "plan/job.h"
#include "rendezvous/messages.h"

namespace toprun::node {

// The CPUs of each of this process's workers by --numa-binding; empty without it. Reads the machine
// and says what it finds: with -v every worker's CPUs, and always where there are no GPUs to go by.
Result<std::vector<std::vector<int>>> bind_workers(const plan::Job& job,
                                                   const rendezvous::Assignment& assignment);

}  // namespace toprun::node
