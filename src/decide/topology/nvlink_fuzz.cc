#include <cstdint>

#include "decide/topology/nvlink.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  (void)toprun::topology::parse_nvlink_csv({reinterpret_cast<const char*>(data), size});
  return 0;
}
