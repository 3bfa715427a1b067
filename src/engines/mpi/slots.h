#pragma once

#include <string>

#include "base/os/environment.h"
#include "base/text/error.h"
#include "engines/allocation.h"
#include "engines/gpus.h"

namespace toprun::engines {

inline constexpr int max_slots = 65'536;  // processes on one node

struct SlotsRequest {
  std::string nproc_per_node;  // "": not given; a number ≥ 1, "cpu", "gpu" or "auto"
  std::string source;          // "--nproc-per-node" or "PET_NPROC_PER_NODE"
  bool called_torchrun = false;
  int cpus = 1;      // in this process's affinity mask
  GpuCount visible;  // visible_gpus()
};

struct Slots {
  int count = 1;
  std::string source;  // for one line: "8 processes per node (SLURM_GPUS_ON_NODE)"
};

// Processes on this node: --nproc-per-node > PET_NPROC_PER_NODE > GPUs that the engine gave to this
// step on this node > tasks per node that the user requested > visible GPUs > 1; called torchrun: 1
// unless given. GPUs that the user hides by CUDA_VISIBLE_DEVICES do not count as given. With ranks
// in place it is the number of tasks that the engine started here.
Result<Slots> slots_here(const Environment& environment, const Allocation& allocation,
                         const SlotsRequest& request);

}  // namespace toprun::engines
