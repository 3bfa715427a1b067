#pragma once

#include <string>
#include <string_view>

#include "decide/topology/tree.h"

namespace toprun::topology {

// Parses the topology that Azure CycleCloud's azslurm prints (azure-slurm, slurmcc/topology.py).
// azslurm prints a tree of switches:
//   Switch 5 (root)
//   ├── Switch 0 (2 nodes)
//   │   ├── n1
//   │   └── n2
// or a table of hosts for each NVLink domain:
//   block 1  : # of Nodes = 3
//   ClusterUUID + CliqueID : 5e797fc6-…
//   |----|----|
//   | n1 | n2 |
//   |----|----|
// The domains are named "switch5" and "block1", as in the topology.conf that azslurm writes. Errors
// (file:line:column): a line of another form; those of map_of_switches() and map_of_blocks().
Result<Map> parse_azslurm_file(std::string_view text, const std::string& file);

// Whether the line can be the first line of azslurm's output.
bool looks_like_azslurm(std::string_view line);

}  // namespace toprun::topology
