#pragma once

#include <memory>

#include "engines/queue.h"

namespace toprun::engines {

// Slurm's queue through squeue, scontrol, sacct and scancel. nullptr: PATH has none of these
// programs.
Result<std::unique_ptr<Queue>> slurm_queue(const Environment& environment);

}  // namespace toprun::engines
