#pragma once

#include <string>
#include <vector>

#include "cli/options/call.h"
#include "engines/queue.h"

namespace toprun::cli {

// `toprun cluster`: free resources of partitions and file systems.
Result<int> run_cluster(const options::Call& call);

// The call's environment, in which --on says which engine is asked.
Environment asking(const options::Call& call);

// The free resources of one partition.
struct PartitionView {
  engines::Partition partition;
  std::int64_t nodes = 0;
  std::vector<std::string> idle;  // names
  struct Gpus {
    std::string kind;  // empty: unknown
    std::int64_t total = 0;
    std::int64_t free = 0;  // on nodes that take jobs
  };
  std::vector<Gpus> gpus;
  bool usage_known = true;  // else `idle` and `free` mean nothing
  std::string debug;        // why it is one for short tests; empty: it is not
};

// Pure. The default partition first, the others as the engine lists them.
std::vector<PartitionView> views_of(const engines::Machines& machines);

}  // namespace toprun::cli
