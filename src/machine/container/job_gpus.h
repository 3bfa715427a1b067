#pragma once

#include <string>
#include <vector>

#include "base/os/environment.h"

namespace toprun::container {

// The node's numbers of a Slurm job's GPUs, where the job knows them by others. Slurm hides the
// rest of a node's GPUs by a cgroup (ConstrainDevices of cgroup.conf) and counts those that are
// left from 0 in CUDA_VISIBLE_DEVICES. A container that gets a cgroup of its own would see all of
// them, and 0 would be another's. Empty: all GPUs may be shown.
std::vector<std::string> renumbered_gpus(const Environment& environment);

}  // namespace toprun::container
