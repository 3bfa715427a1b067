#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/os/environment.h"
#include "base/text/clock.h"

// Facts about a process's own job that Slurm passes by environment variables (sbatch(1), "OUTPUT
// ENVIRONMENT VARIABLES").
namespace toprun::engines::slurm {

// The id as users know it: "30"; for a task of an array "29_0". nullopt: there is no job.
std::optional<std::string> own_job_id(const Environment& environment);

// The name that the user chose. nullopt: no name, or the default name of srun and salloc.
std::optional<std::string> own_job_name(const Environment& environment);

// The job's nodes that are not in this list, for example in a step with fewer nodes. Empty outside
// a job.
std::vector<std::string> other_nodes_of_own_job(const Environment& environment,
                                                const std::vector<std::string>& nodes);

// When the job reaches its time limit, according to the output of `scontrol show job -o`. If the
// output is empty, according to a variable that Slurm set at the job's start (23.02 and newer).
std::optional<WallTime> job_end_in(std::string_view job, const Environment& environment);
// Like job_end_in(), with a query to scontrol, which takes at most engine_answer_limit.
std::optional<WallTime> own_job_end(const Environment& environment);

}  // namespace toprun::engines::slurm
