#include <cstdint>
#include <cstdlib>

#include "decide/topology/files/lines_file.h"

// If the input is accepted, all paths are as long as the levels.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace toprun::topology;
  const auto map = parse_lines_file({reinterpret_cast<const char*>(data), size}, "t");
  if (!map) return 0;
  for (const Map::Entry& entry : map->hosts) {
    if (entry.location.path.size() != map->levels.size()) std::abort();
  }
  return 0;
}
