#include <cstdint>

#include "decide/topology/cloud/cloud.h"
#include "decide/topology/topology_testing.h"

// If the input is accepted, all paths are as long as the levels.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace toprun::topology;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  looks_like_aws_topology(text);
  check_paths(parse_aws_topology(text, "t"));
  return 0;
}
