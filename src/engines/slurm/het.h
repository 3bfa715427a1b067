#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/os/environment.h"
#include "base/text/error.h"

namespace toprun::engines::slurm {

// One component of a heterogeneous job (sbatch's ":", heterogeneous_jobs(5)). Variables of the
// whole job that have no number are the first component's in its batch script, but of all
// components in a step of all (22.05).
struct HetComponent {
  std::vector<std::string> nodes;
  std::optional<std::vector<int>> tasks;  // on each node, if the header asked for a number
};

// Empty in an ordinary job.
Result<std::vector<HetComponent>> het_components(const Environment& environment);

}  // namespace toprun::engines::slurm
