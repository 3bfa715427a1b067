#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/os/environment.h"
#include "base/text/error.h"

namespace toprun::engines::slurm {

// One component of a heterogeneous job (sbatch's ":", heterogeneous_jobs(5)). Slurm's variables
// without a component number describe the first component if they are read in the batch script. In
// a step on all components, these variables describe all components (22.05).
struct HetComponent {
  std::vector<std::string> nodes;
  std::optional<std::vector<int>> tasks;  // tasks on each node, if the script's header specified a
                                          // number
};

// Empty for an ordinary job.
Result<std::vector<HetComponent>> het_components(const Environment& environment);

}  // namespace toprun::engines::slurm
