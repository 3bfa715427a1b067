#pragma once

#include <span>
#include <string>
#include <string_view>

#include "decide/topology/fabric.h"
#include "decide/topology/source.h"

namespace toprun::topology {

// Parses the output of `ibnetdiscover` (ibnetdiscover(8); infiniband-diags/ibnetdiscover.c, also
// with -g and -f):
//   vendid=0x2c9                                              a record's identifiers
//   switchguid=0x2c5eab0300b87b40(2c5eab0300b87b40)
//   Switch  65 "S-2c5eab0300b87b40"   # "MF0;leaf-04:MQM9701/U1" enhanced port 0 lid 73 lmc 0
//   [1]  "H-e09d7303007a4bd8"[1](e09d7303007a4bd8)   # "n0 mlx5_5" lid 647 4xNDR
//   Ca  1 "H-e09d7303007a4bd8"   # "n0 mlx5_5"
//   [1](e09d7303007a4bd8)  "S-2c5eab0300b87b40"[1]   # lid 647 lmc 0 "MF0;leaf-04:…" lid 73 4xNDR
// Each cable is listed at both ends; one entry is enough. An adapter's node description is "HOST
// DEVICE" (the default of rdma-ndd and the drivers) or "HOST". Adapters with any other description
// (from hosts that never set a description) belong to an unknown host; a warning says how many
// these are. `file` is the text's name in evidence and errors (file:line:column). If most lines are
// from ibnetdiscover, other lines, as in a terminal log, are skipped with a warning. The ports
// report of -p is also accepted (ib_records.h). `members`: see fabric_of_records(). Errors: a
// malformed port line, two records with different descriptions for one node, a cable whose two ends
// contradict each other, no switch with a host.
Result<Fabric> parse_ibnetdiscover(std::string_view text, const std::string& file,
                                   std::span<const Member> members = {});

// Whether `line` belongs to ibnetdiscover's output. `line` must be neither empty nor a comment.
bool looks_like_ibnetdiscover(std::string_view line);
// Whether the line belongs to a node list without cables: ibnetdiscover -l, ibswitches, ibhosts.
bool is_node_list(std::string_view line);

}  // namespace toprun::topology
