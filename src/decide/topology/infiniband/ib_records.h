#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "decide/topology/fabric.h"
#include "decide/topology/source.h"

namespace toprun::topology {

// A switch or adapter of an InfiniBand fabric. Its string_views refer to the text that was parsed.
struct IbNode {
  enum class Kind { device, adapter, other };  // `device` is a switch

  Kind kind = Kind::other;
  std::string_view id;     // "S-2c5eab0300b87b40"
  std::uint64_t guid = 0;  // 0: the dump has only the GUIDs of the node's ports
  std::string_view description{};
  std::size_t line = 0;          // line of the node's record; 0: only other records mention the
                                 // node
  std::size_t mention_line = 0;  // line of its first mention

  bool is_switch() const { return kind == Kind::device; }
  bool is_adapter() const { return kind == Kind::adapter; }
};

inline constexpr int max_ib_port = 255;  // per switch or adapter: one byte in InfiniBand

struct IbEnd {
  std::size_t node = 0;  // index
  int port = 0;
  std::uint64_t guid = 0;  // for an adapter: the port's GUID; 0: unknown

  // Returns a number that identifies the port: no other port in the same records has it.
  std::uint64_t key() const {
    return static_cast<std::uint64_t>(node) * (max_ib_port + 1) + static_cast<std::uint64_t>(port);
  }
  bool operator==(const IbEnd& other) const { return node == other.node && port == other.port; }
};

struct IbCable {
  IbEnd from, to;
  std::string speed;  // "4xNDR"
};

// The content of ibnetdiscover's output, in its usual format or that of its option -p.
struct IbRecords {
  std::vector<IbNode> nodes;
  std::vector<IbCable> cables;
};

// Builds the hosts, their rails and the switches above them. If one of the job's nodes (`members`)
// reported the GUID of an adapter's port, the port belongs to that node. Otherwise the description
// names the host: "HOST DEVICE" (the default of rdma-ndd and the drivers) or "HOST". Adapters with
// any other description (from hosts that never set a description) belong to an unknown host; a
// warning says how many these are. Warnings and notes about rails name only the job's nodes; if
// `members` is empty, they name all hosts. Error: no switch is connected to a host.
Result<Fabric> fabric_of_records(const IbRecords& records, const std::string& file,
                                 std::span<const Member> members);

// Parses the output of `ibnetdiscover -p`, one line per port (dump_ports_report() in
// infiniband-diags):
//
// clang-format off
//   SW    73  1 0x2c5eab0300b87b40 4x NDR - CA   647  1 0xe09d7303007a4bd8 ( 'MF0;leaf' - 'n0 mlx5_5' )
//   CA   647  1 0xe09d7303007a4bd8 4x NDR - SW    73  1 0x2c5eab0300b87b40 ( 'n0 mlx5_5' - 'MF0;leaf' )
//   SW    73  2 0x2c5eab0300b87b40 4x SDR 'MF0;leaf'
// clang-format on
//
// The columns are type, LID, port and GUID, width and speed, the same for the other end, and both
// descriptions. A switch has one GUID, an adapter one per port. Each cable is listed at both ends;
// a port without a cable has no other end. Other lines are skipped. Error (file:line): a line that
// begins like the lines above, but continues in another form.
Result<IbRecords> parse_ports_report(std::string_view text, const std::string& file);

// Whether the line has the form that parse_ports_report() parses.
bool is_ports_report_line(std::string_view line);

}  // namespace toprun::topology
