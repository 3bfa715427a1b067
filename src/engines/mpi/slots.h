#pragma once

#include <string>

#include "base/os/environment.h"
#include "base/text/error.h"
#include "engines/allocation.h"
#include "engines/gpus.h"

namespace toprun::engines {

inline constexpr int max_slots = 65'536;  // processes on one node

struct SlotsRequest {
  std::string nproc_per_node;  // "": not set; a number ≥ 1, "cpu", "gpu" or "auto"
  std::string source;          // "--nproc-per-node" or "PET_NPROC_PER_NODE"
  bool called_torchrun = false;
  bool lists_hosts = false;  // --hosts or --hostfile
  int cpus = 1;              // number of CPUs in this process's affinity mask
  GpuCount visible;          // visible_gpus()
};

struct Slots {
  int count = 1;
  std::string source;  // one line: "8 processes per node (SLURM_GPUS_ON_NODE)"
};

// Returns the number of processes to start on this node. The number is the first known value among
// --nproc-per-node, PET_NPROC_PER_NODE, the GPUs that the engine gave this step on this node, the
// tasks per node that the user requested, the visible GPUs, and 1. If toprun is called as torchrun,
// the number is 1 unless an option or a variable sets it. GPUs that the user hides with
// CUDA_VISIBLE_DEVICES do not count. If srun or mpirun started the ranks themselves (ranks in
// place), returns how many tasks it started on this node.
Result<Slots> slots_here(const Environment& environment, const Allocation& allocation,
                         const SlotsRequest& request);

}  // namespace toprun::engines
