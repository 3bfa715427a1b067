#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/text/error.h"
#include "decide/topology/source.h"

namespace toprun::topology {

// A port of an InfiniBand adapter. The port's GUID is the lower half of its GID 0; ibstat calls
// this GUID "Port GUID". The adapter's own GUID, "Node GUID", is a different number.
struct Port {
  std::string device;  // "mlx5_ib0"
  int number = 1;      // on the adapter
  std::uint64_t guid = 0;

  bool operator==(const Port&) const = default;
};

struct HostPorts {
  std::string host;
  std::vector<Port> ports;
};

// Whether this value of --topology can use the nodes' ports: the value names a file, or is `azure`.
bool needs_ports(std::string_view topology);

// Reads this machine's ports with link layer InfiniBand, in natural order, at most max_rails.
// `root`: the folder that contains sys.
std::vector<Port> read_ports(const std::filesystem::path& root = "/");

// Returns the text with which a node sends its ports to the root: a line per port, as in
// "mlx5_ib0/1 0x155dfffd33ff33".
std::string ports_text(std::span<const Port> ports);
// Parses the text of ports_text(). Errors: a line of another form, more than max_rails lines.
Result<std::vector<Port>> parse_ports(std::string_view text);

// Returns the job's nodes that reported at least one port.
std::vector<HostPorts> ports_of(std::span<const Member> members);

// Parses the file that `sharp_cmd topology --topology_file` writes (NVIDIA SHARP). No public
// documentation exists, but Azure's own tools read this form: a topology.conf with ports as nodes.
//   SwitchName=ibsw2 Nodes=0x155dfffd341acb,0x155dfffd341b0b
//   SwitchName=ibsw7 Switches=ibsw1,ibsw2
// The ports identify the hosts. A host may have ports on several leaves; fabric.h describes the
// resulting domains. A warning names hosts with no port in the file. Errors (file:line:column): a
// line of another form, a port or a switch that is listed twice, a switch that no line defines.
Result<Map> parse_port_topology(std::string_view text, const std::string& file,
                                std::span<const HostPorts> hosts);

// Returns a map with unknown places for all members, with the reason as a warning. The caller uses
// this map if the file lists only ports, and no port belongs to a node of the job.
Map unknown_places(std::span<const Member> members, const std::string& file, std::string warning);

// Whether the nodes in a topology.conf are ports.
bool names_ports(std::string_view text);

}  // namespace toprun::topology
