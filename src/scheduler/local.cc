#include "scheduler/local.h"

namespace toprun::scheduler {

Result<std::optional<Allocation>> LocalEngine::detect(const Environment&,
                                                      const Hints& hints) const {
  if (hints.ranks_in_place) {
    return usage("--ranks-in-place", "no engine started one process per rank here",
                 "start toprun by srun -n RANKS, or drop the option");
  }
  Allocation allocation;
  allocation.engine = name();
  allocation.node_count_source = hints.standalone ? "--standalone"
                                 : hints.nnodes   ? hints.nnodes_source
                                                  : "default";
  allocation.my_node = 0;
  allocation.node_name = hints.host_name;
  allocation.reasons.push_back("one node, this one: no engine's variables are set");
  return allocation;
}

}  // namespace toprun::scheduler
