#pragma once

#include <string>
#include <vector>

#include "base/os/environment.h"
#include "base/text/error.h"
#include "engines/slurm/job.h"
#include "node/plan/activation.h"

namespace toprun::cli {

// Before the submission, checks on this host the environment that the job's nodes will need. A
// missing virtual or conda environment is an error, because all nodes are assumed to see the same
// folders. The nodes may have other modules and hardware than this host, so a failed check of these
// adds only a note. If the job depends on another job, a missing environment is not an error,
// because the other job may create the environment.
Result<void> check_activation(const plan::Activation& requested, const engines::JobRequest& request,
                              const Environment& environment, std::vector<std::string>& notes);

}  // namespace toprun::cli
