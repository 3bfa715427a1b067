#pragma once

#include <string>
#include <vector>

#include "cli/options/call.h"
#include "engines/queue.h"

namespace toprun::cli {

// `toprun cluster`: shows free resources of partitions and file systems.
Result<int> run_cluster(const options::Call& call);

// The free resources of one partition.
struct PartitionView {
  engines::Partition partition;
  std::int64_t nodes = 0;
  std::vector<std::string> idle;  // names of idle nodes
  struct Gpus {
    std::string kind;  // empty: unknown
    std::int64_t total = 0;
    std::int64_t free = 0;  // free GPUs on nodes that accept jobs
  };
  std::vector<Gpus> gpus;
  bool usage_known = true;  // false: `idle` and `free` are meaningless
  std::string debug;        // why the partition is for short tests; empty: the partition is not for
                            // short tests
};

// Returns the default partition first, then the other partitions in the engine's order. Pure.
std::vector<PartitionView> views_of(const engines::Machines& machines);

}  // namespace toprun::cli
