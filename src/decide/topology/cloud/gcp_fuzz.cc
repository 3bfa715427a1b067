#include <cstdint>
#include <cstdlib>

#include "decide/topology/cloud/cloud.h"

// Accepted input names at least one domain and at most max_levels.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace toprun::topology;
  const auto path = parse_gcp_physical_host({reinterpret_cast<const char*>(data), size});
  if (path && (!path->known() || path->size() > max_levels)) std::abort();
  return 0;
}
