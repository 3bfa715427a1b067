#pragma once

#include <memory>
#include <optional>
#include <string>

#include "engines/queue.h"

namespace toprun::engines {

// Returns Slurm's queue (squeue, scontrol, sacct, scancel). nullptr: PATH has none of these.
Result<std::unique_ptr<Queue>> slurm_queue(const Environment& environment);

// Returns the error for a job that the user names, because Slurm takes only job numbers. The error
// names the user's job with this name, if there is only one. nullopt: squeue is not in PATH.
std::optional<Error> slurm_job_by_name(const std::string& name, const Environment& environment);

}  // namespace toprun::engines
