#pragma once

#include <memory>

#include "engines/queue.h"

namespace toprun::engines {

// Slurm's queue by squeue, scontrol, sacct and scancel; nullptr: none of them is in PATH.
Result<std::unique_ptr<Queue>> slurm_queue(const Environment& environment);

}  // namespace toprun::engines
