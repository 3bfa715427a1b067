#pragma once

#include <string>
#include <vector>

#include "base/os/environment.h"
#include "base/text/error.h"
#include "engines/slurm/job.h"
#include "node/plan/activation.h"

namespace toprun::cli {

// Checks before the submission, on this host, what the job's nodes will need. Folders are shared,
// so a missing virtual or conda environment is an error. Modules and the machine may differ on the
// nodes, so their failures are notes only. A job that begins after another may use what that one
// creates.
Result<void> check_activation(const plan::Activation& wanted, const engines::JobRequest& request,
                              const Environment& environment, std::vector<std::string>& notes);

}  // namespace toprun::cli
