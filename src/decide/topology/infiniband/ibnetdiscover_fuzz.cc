#include <cstdint>
#include <cstdlib>

#include "decide/topology/infiniband/ibnetdiscover.h"

// If the input is accepted, all paths are as long as the levels and every host has a rail.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace toprun::topology;
  const auto fabric = parse_ibnetdiscover({reinterpret_cast<const char*>(data), size}, "t");
  if (!fabric) return 0;
  if (fabric->rails.size() != fabric->map.hosts.size()) std::abort();
  for (std::size_t i = 0; i < fabric->rails.size(); ++i) {
    if (fabric->map.hosts[i].location.path.size() != fabric->map.levels.size()) std::abort();
    if (fabric->rails[i].empty()) std::abort();
  }
  return 0;
}
