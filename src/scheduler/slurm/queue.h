#pragma once

#include <memory>

#include "scheduler/queue.h"

namespace toprun::scheduler {

// Slurm's queue by squeue, scontrol, sacct and scancel; nullptr: none of them is in PATH.
Result<std::unique_ptr<Queue>> slurm_queue(const Environment& environment);

}  // namespace toprun::scheduler
