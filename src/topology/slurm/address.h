#pragma once

#include <span>

#include "topology/source.h"

namespace toprun::topology {

// SLURM_TOPOLOGY_ADDR and SLURM_TOPOLOGY_ADDR_PATTERN, which slurmstepd gives to every task about
// its own node (Slurm's topology/tree since long, topology/block since 24.05; else the flat form):
//   core.s0.r1.n0   switch.switch.switch.node
//   b1.n5           block.node
//   n5              node                       no level is known
// A component may be a hostlist ("sp[0-1]": two spines above the leaf), which names one domain, or
// empty (unknown). The node's own name may contain dots, so the pattern says where it begins.
// Members whose patterns differ in depth are aligned at the leaf.
//
// Members without an address are left out; malformed addresses too, with a warning. A name given
// twice with the same address (two agents on one host) counts once. Error: one member in two
// places, a switch below two different ones, switches and blocks in one job; both hosts are named.
Result<Map> map_of_addresses(std::span<const Member> members);

// The addresses of the request's members; nullopt if none has one.
Result<std::optional<Map>> read_slurm_addresses(const Request& request);

}  // namespace toprun::topology
