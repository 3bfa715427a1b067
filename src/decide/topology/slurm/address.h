#pragma once

#include <span>

#include "decide/topology/source.h"

namespace toprun::topology {

// Reads SLURM_TOPOLOGY_ADDR and SLURM_TOPOLOGY_ADDR_PATTERN. slurmstepd sets these two variables in
// every task, with the place of the task's own node. The form depends on Slurm's plugin:
//   core.s0.r1.n0   switch.switch.switch.node  topology/tree in all versions
//   b1.n5           block.node                 topology/block since 24.05
//   n5              node                       otherwise; no level is known
// A component may be empty (unknown) or a hostlist ("sp[0-1]": two spines above the leaf); a
// hostlist names one domain. The node's own name may contain dots; the pattern shows where the
// node's name begins. If the pattern of one of the job's nodes (a member) has fewer levels than
// others, this node's outermost levels are unknown.
//
// Members without an address are left out. Members with a malformed address are left out with a
// warning. A name that occurs twice with the same address (two agents on one host) counts once.
// Errors: one member has two addresses, a switch is below two different switches, one job has
// switches and blocks; the message names both hosts.
Result<Map> map_of_addresses(std::span<const Member> members);

// Builds a map from the addresses of the job's nodes (request.members). nullopt: no node has an
// address.
Result<std::optional<Map>> read_slurm_addresses(const Request& request);

}  // namespace toprun::topology
