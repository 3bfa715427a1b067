#include <cstdint>
#include <cstdlib>

#include "engines/slurm/machines.h"

// No node uses more GPUs than it has, and only usable ones are idle.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace toprun::engines;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  for (const ClusterNode& node : slurm::parse_nodes(text)) {
    if (node.used_gpus > node.gpus || node.gpus < 0 || (node.idle && !node.usable)) std::abort();
  }
  (void)slurm::parse_partitions(text);
  return 0;
}
