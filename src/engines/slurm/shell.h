#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/os/environment.h"
#include "engines/slurm/job.h"

namespace toprun::engines {

// The command for an interactive allocation: salloc with the request's options and, in it, a step
// on its first node that has the terminal and runs `shell`, a command. The step keeps the
// allocation's variables and forgets that it is a step, so that toprun in it uses all nodes. It is
// the same whether or not the site has LaunchParameters=use_interactive_step. Pure.
std::vector<std::string> salloc_command(const JobRequest& request,
                                        const std::vector<std::string>& shell);

// The command for a shell on the first node of a job that runs. `job`: how srun names it. Pure.
std::vector<std::string> attach_command(const std::vector<std::string>& job,
                                        const std::vector<std::string>& shell);

// The id of the job that this process is in; variables that a job which has ended left behind count
// for nothing.
std::optional<std::string> surrounding_job(const Environment& environment);

}  // namespace toprun::engines
