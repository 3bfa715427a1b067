#pragma once

#include "machine/container/runtime.h"

namespace toprun::container {

// NVIDIA's plugin for Slurm (args.c in pyxis 0.20 and newer): srun itself starts the program in the
// container, through enroot. So there is no command(); the srun for the agents gets step_options().
const Runtime& pyxis();

}  // namespace toprun::container
