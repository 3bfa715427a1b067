#pragma once

#include <string>
#include <vector>

#include "base/os/environment.h"

namespace toprun::container {

// The node's own numbers of a Slurm job's GPUs, if the job uses different numbers. Slurm hides the
// other GPUs of a node with a cgroup (ConstrainDevices in cgroup.conf) and counts the remaining
// ones from 0 in CUDA_VISIBLE_DEVICES. A container with a cgroup of its own would see all GPUs, so
// 0 could be another job's GPU. Empty: all GPUs may be visible.
std::vector<std::string> renumbered_gpus(const Environment& environment);

}  // namespace toprun::container
