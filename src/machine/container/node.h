#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "base/os/environment.h"
#include "machine/container/runtimes.h"

namespace toprun::container {

// Detects the properties of this node. Devices and CDI files (cdi.md in the Container Device
// Interface) are searched below `root`; user, group and limits are this process's.
Node find_node(std::string host, const std::filesystem::path& root = "/");

// Returns the numbers that the node gives to the GPUs of a Slurm job, if the job itself gives them
// other numbers. Slurm hides a node's other GPUs with a cgroup (ConstrainDevices in cgroup.conf).
// Slurm counts the job's GPUs from 0 in CUDA_VISIBLE_DEVICES. A container with a cgroup of its own
// would see all GPUs, so GPU 0 there could belong to another job. Empty: the container may see all
// GPUs.
std::vector<std::string> renumbered_gpus(const Environment& environment);

}  // namespace toprun::container
