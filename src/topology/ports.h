#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "topology/source.h"

namespace toprun::topology {

// A port of an InfiniBand adapter. Its GUID is the lower half of its GID 0, which ibstat calls
// "Port GUID"; the adapter's own, "Node GUID", is another number.
struct Port {
  std::string device;  // "mlx5_ib0"
  int number = 1;      // of the adapter
  std::uint64_t guid = 0;

  bool operator==(const Port&) const = default;
};

struct HostPorts {
  std::string host;
  std::vector<Port> ports;
};

// Whether the nodes' ports are of use with this --topology: it names a file, or `azure`.
bool needs_ports(std::string_view topology);

// This machine's ports whose link layer is InfiniBand, in natural order, max_rails at most.
// `root`: where /sys is.
std::vector<Port> read_ports(const std::filesystem::path& root = "/");

// Ports as they travel to the root, a line "mlx5_ib0/1 0x155dfffd33ff33" each, and back. Error: a
// line of another form, more than max_rails of them.
std::string ports_text(std::span<const Port> ports);
Result<std::vector<Port>> parse_ports(std::string_view text);

// The members that told of any port.
std::vector<HostPorts> ports_of(std::span<const Member> members);

// The file that `sharp_cmd topology --topology_file` writes (NVIDIA SHARP; no public document; the
// form is the one that Azure's own tools read): a topology.conf whose nodes are ports.
//   SwitchName=ibsw2 Nodes=0x155dfffd341acb,0x155dfffd341b0b
//   SwitchName=ibsw7 Switches=ibsw1,ibsw2
// Ports identify the hosts. A host may have ports on several leaves: fabric.h defines the domains
// then. Warnings: hosts without any port in the file. Error (file:line:column): no such line, a
// port or a switch twice, a switch that no line defines.
Result<Map> parse_port_topology(std::string_view text, const std::string& file,
                                std::span<const HostPorts> hosts);

// What is known of the members where ports alone stand in `file` and none is one of theirs:
// nothing. `warning` says why.
Map unknown_places(std::span<const Member> members, const std::string& file, std::string warning);

// Whether a topology.conf's nodes are ports.
bool names_ports(std::string_view text);

}  // namespace toprun::topology
