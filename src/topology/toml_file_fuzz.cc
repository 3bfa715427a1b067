#include <algorithm>
#include <cstdint>
#include <cstdlib>

#include "topology/toml_file.h"

// Of whatever is accepted, all paths are as long as the levels. Letters beyond ASCII are left out:
// toml++ 3.3 marks as unreachable (in is_non_ascii_horizontal_whitespace) what they reach, where it
// then gives the right answer all the same, but the sanitizer stops.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace toprun::topology;
  if (std::any_of(data, data + size, [](std::uint8_t byte) { return byte >= 0x80; })) return -1;
  const auto map = parse_toml_file({reinterpret_cast<const char*>(data), size}, "t");
  if (!map) return 0;
  for (const Map::Entry& entry : map->hosts) {
    if (entry.location.path.size() != map->levels.size()) std::abort();
  }
  return 0;
}
