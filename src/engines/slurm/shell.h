#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/os/environment.h"
#include "engines/slurm/job.h"

namespace toprun::engines {

// The command for an interactive allocation. The command runs salloc with the request's options.
// Inside the allocation, a step on the first node runs `shell`, a command, on the terminal. The
// shell has the allocation's variables, but not the step's, so that toprun in this shell uses all
// nodes. The command does not depend on LaunchParameters=use_interactive_step. Pure function.
std::vector<std::string> salloc_command(const JobRequest& request,
                                        const std::vector<std::string>& shell);

// The command for a shell on the first node of a running job. `job`: srun's options that name the
// job. Pure function.
std::vector<std::string> attach_command(const std::vector<std::string>& job,
                                        const std::vector<std::string>& shell);

// The id of the job that contains this process. Variables left behind by an ended job are ignored.
std::optional<std::string> surrounding_job(const Environment& environment);

}  // namespace toprun::engines
