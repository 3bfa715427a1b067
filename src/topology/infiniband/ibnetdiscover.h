#pragma once

#include <span>
#include <string>
#include <string_view>

#include "topology/fabric.h"
#include "topology/source.h"

namespace toprun::topology {

// What `ibnetdiscover` prints (ibnetdiscover(8); infiniband-diags/ibnetdiscover.c, also with -g,
// -f):
//   vendid=0x2c9                                              a record's identifiers
//   switchguid=0x2c5eab0300b87b40(2c5eab0300b87b40)
//   Switch  65 "S-2c5eab0300b87b40"   # "MF0;leaf-04:MQM9701/U1" enhanced port 0 lid 73 lmc 0
//   [1]  "H-e09d7303007a4bd8"[1](e09d7303007a4bd8)   # "n0 mlx5_5" lid 647 4xNDR
//   Ca  1 "H-e09d7303007a4bd8"   # "n0 mlx5_5"
//   [1](e09d7303007a4bd8)  "S-2c5eab0300b87b40"[1]   # lid 647 lmc 0 "MF0;leaf-04:…" lid 73 4xNDR
// Each cable stands at both ends; either suffices. An adapter's node description is "HOST DEVICE"
// (rdma-ndd's and the drivers' default) or "HOST"; any other, as adapters have whose host never set
// one, names no host: these are counted in a warning. `file` names the text in errors
// (file:line:column) and evidence. Lines of another kind, as a terminal's log has, are skipped with
// a warning as long as most are the dump's. The report of ports that -p prints is read too
// (ib_ports_report.h). `members`: see fabric_of_records(). Error: a port of another form, a record
// twice with two descriptions, two ends that contradict each other, no host on any switch.
Result<Fabric> parse_ibnetdiscover(std::string_view text, const std::string& file,
                                   std::span<const Member> members = {});

// Whether a line that is neither empty nor a comment is one of such a dump.
bool looks_like_ibnetdiscover(std::string_view line);
// Whether it is one of a list of nodes without cables: ibnetdiscover -l, ibswitches, ibhosts.
bool is_node_list(std::string_view line);

}  // namespace toprun::topology
