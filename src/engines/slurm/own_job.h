#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/os/environment.h"
#include "base/text/clock.h"

// What Slurm tells a job's processes about their job, by environment variables (sbatch(1), "OUTPUT
// ENVIRONMENT VARIABLES").
namespace toprun::engines::slurm {

// As its users know it: "30", of a task of an array "29_0"; nullopt: there is no job.
std::optional<std::string> own_job_id(const Environment& environment);

// The name that its user has chosen; nullopt: none, or it is only what srun and salloc call jobs
// without one.
std::optional<std::string> own_job_name(const Environment& environment);

// The nodes of the job that are not among these, as of a step with fewer nodes; none outside of a
// job.
std::vector<std::string> other_nodes_of_own_job(const Environment& environment,
                                                const std::vector<std::string>& nodes);

// When it reaches its time limit, by what `scontrol show job -o` printed, or else as far as was
// known when it began (23.02 and newer).
std::optional<WallTime> job_end_in(std::string_view job, const Environment& environment);
// The same, asked now: runs scontrol, for engine_answer_limit at most.
std::optional<WallTime> own_job_end(const Environment& environment);

}  // namespace toprun::engines::slurm
