#pragma once

#include "scheduler/engine.h"

namespace toprun::scheduler {

// One process among those that an mpirun started (mpi_world.h). The root is rank 0's: the others
// look for it on each host that may have it.
//
//   | given                                   | stance   |
//   |-----------------------------------------|----------|
//   | one process                             | single   |
//   | one process on each node                | agent    |
//   | several on a node, or --ranks-in-place  | in_place |
class MpiEngine final : public Engine {
 public:
  std::string_view name() const override { return "mpi"; }
  Result<std::optional<Allocation>> detect(const Environment& environment,
                                           const Hints& hints) const override;
};

}  // namespace toprun::scheduler
