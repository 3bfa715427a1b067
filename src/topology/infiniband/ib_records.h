#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "topology/fabric.h"
#include "topology/source.h"

namespace toprun::topology {

// A switch or adapter of an InfiniBand fabric, as a dump names it. Texts are the dump's.
struct IbNode {
  enum class Kind { device, adapter, other };  // device: a switch

  Kind kind = Kind::other;
  std::string_view id;     // "S-2c5eab0300b87b40"
  std::uint64_t guid = 0;  // 0: the dump tells only its ports'
  std::string_view description{};
  std::size_t line = 0;          // of its record; 0: other records name it, it has none
  std::size_t mention_line = 0;  // where it is named first

  bool is_switch() const { return kind == Kind::device; }
  bool is_adapter() const { return kind == Kind::adapter; }
};

struct IbEnd {
  std::size_t node = 0;  // index
  int port = 0;
  std::uint64_t guid = 0;  // of an adapter's port; 0: not told

  bool operator==(const IbEnd& other) const { return node == other.node && port == other.port; }
};

struct IbCable {
  IbEnd from, to;
  std::string speed;  // "4xNDR"
};

// What a dump says, whichever way it is written.
struct IbRecords {
  std::vector<IbNode> nodes;
  std::vector<IbCable> cables;
};

// The hosts, their rails and the switches above them. A port whose GUID a member
// reported belongs to that member. Otherwise the adapter's description names its host: "HOST
// DEVICE" (the default of rdma-ndd and the drivers) or "HOST". Any other description, as of
// adapters whose host never set one, names no host; a warning counts these. Facts about rails
// concern the members only, or all hosts if there are no members. Error: no host on any switch.
Result<Fabric> fabric_of_records(const IbRecords& records, const std::string& file,
                                 std::span<const Member> members);

}  // namespace toprun::topology
