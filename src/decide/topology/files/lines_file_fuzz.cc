#include <cstdint>

#include "decide/topology/files/formats.h"
#include "decide/topology/topology_testing.h"

// If the input is accepted, all paths are as long as the levels.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace toprun::topology;
  check_paths(parse_lines_file({reinterpret_cast<const char*>(data), size}, "t"));
  return 0;
}
