
#include "node/prepare/prefetch/prefetch_record.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  (void)toprun::prefetch::parse_record({reinterpret_cast<const char*>(data), size});
  return 0;
}
