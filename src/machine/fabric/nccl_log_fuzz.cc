// Any output of a rank in place of NCCL's lines, in pieces of any size.
#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "machine/fabric/nccl_log.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using toprun::fabric::NcclLogReader;
  if (size == 0) return 0;
  const std::size_t step = data[0] + 1u;
  std::string_view text(reinterpret_cast<const char*>(data) + 1, size - 1);
  NcclLogReader reader;
  while (!text.empty()) {
    reader.read(text.substr(0, step));
    text.remove_prefix(std::min(step, text.size()));
  }
  return 0;
}
