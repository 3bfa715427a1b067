#pragma once

#include "machine/container/runtime.h"

namespace toprun::container {

// NVIDIA's plugin of Slurm (pyxis' args.c of 0.20 and newer): srun itself starts what it starts
// inside, by enroot. So there is no command(); the agents' step takes step_options().
const Runtime& pyxis();

}  // namespace toprun::container
