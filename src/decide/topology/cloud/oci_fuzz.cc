#include <cstdint>
#include <cstdlib>

#include "decide/topology/cloud/cloud.h"

// Accepted input names at least one domain.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace toprun::topology;
  const auto place = parse_oci_rdma_topology({reinterpret_cast<const char*>(data), size});
  if (place && !Path(place->begin(), place->end()).known()) std::abort();
  return 0;
}
