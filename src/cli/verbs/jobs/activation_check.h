#pragma once

#include <string>
#include <vector>

#include "base/os/environment.h"
#include "base/text/error.h"
#include "engines/slurm/job.h"
#include "node/plan/activation.h"

namespace toprun::cli {

// Checks on this host, before the submission, what the job's nodes will need. Folders are assumed
// to be shared, so a missing virtual or conda environment is an error. Modules and hardware may
// differ on the nodes, so their failures only cause notes. A job that depends on another job may
// use environments that the other job creates.
Result<void> check_activation(const plan::Activation& requested, const engines::JobRequest& request,
                              const Environment& environment, std::vector<std::string>& notes);

}  // namespace toprun::cli
