#include <cstdint>

#include "decide/topology/slurm/conf.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  (void)toprun::topology::parse_scontrol_topology({reinterpret_cast<const char*>(data), size});
  return 0;
}
