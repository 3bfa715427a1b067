#pragma once

#include <string_view>
#include <vector>

#include "engines/queue.h"

namespace toprun::engines::slurm {

// Parses the output of `scontrol show partition -o`. Pure function. Other text is skipped.
std::vector<Partition> parse_partitions(std::string_view text);
// Parses the output of `scontrol -d show node -o`. Pure function. Other text is skipped.
std::vector<ClusterNode> parse_nodes(std::string_view text);

// The GPUs of a Gres or GresUsed value: "gpu:h100:8(S:0-1),nvme:1", "gpu:4(IDX:0-3)".
struct GpuGres {
  std::int64_t count = 0;
  std::string kind;  // the first GPU type in the value; empty: unknown
};
GpuGres gpus_in(std::string_view gres);

}  // namespace toprun::engines::slurm
