#pragma once

#include <string>
#include <vector>

#include "base/environment.h"
#include "base/error.h"
#include "plan/activation.h"
#include "scheduler/slurm/job.h"

namespace toprun::cli {

// Looks here for what a job's nodes are to have, before the job waits for them. Folders are shared,
// so that a virtual or conda environment that is not here is an error. Modules and the machine may
// be others on the nodes: what fails of them is a note. A job that begins after another may find
// what that one makes.
Result<void> check_activation(const plan::Activation& wanted, const scheduler::JobRequest& request,
                              const Environment& environment, std::vector<std::string>& notes);

}  // namespace toprun::cli
