#include <cstdint>
#include <cstdlib>

#include "decide/topology/ports.h"
#include "decide/topology/topology_testing.h"

// If the input is accepted, all paths are as long as the levels, and the text form of ports parses
// again.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace toprun::topology;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  if (const auto ports = parse_ports(text); ports && parse_ports(ports_text(*ports)) != *ports) {
    std::abort();
  }
  names_ports(text);
  const std::vector<HostPorts> hosts = {{"n0", {{"mlx5_ib0", 1, 1}, {"mlx5_ib1", 1, 2}}},
                                        {"n1", {{"mlx5_ib0", 1, 3}, {"mlx5_ib1", 1, 4}}}};
  check_paths(parse_port_topology(text, "t", hosts));
  return 0;
}
