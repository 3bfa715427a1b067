#pragma once

#include <memory>
#include <optional>
#include <string>

#include "engines/queue.h"

namespace toprun::engines {

// Slurm's queue through squeue, scontrol, sacct and scancel. nullptr: PATH has none of these
// programs.
Result<std::unique_ptr<Queue>> slurm_queue(const Environment& environment);

// The error for a job's name where Slurm takes only numbers. Names the user's job with this name,
// if there is only one. nullopt: squeue is not in PATH.
std::optional<Error> slurm_job_by_name(const std::string& name, const Environment& environment);

}  // namespace toprun::engines
