#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "decide/topology/tree.h"

namespace toprun::topology {

inline constexpr std::size_t max_rails = 64;              // per host; real hosts have up to 16
inline constexpr std::size_t max_domain_name_bytes = 64;  // longer names become "first+N"

// A switch and the switches to which its cables lead.
struct FabricSwitch {
  std::string name;                // unique
  std::vector<std::size_t> peers;  // indexes of switches; a cable may be listed at one end or at
                                   // both
  std::vector<double> gbps{};      // speed of the cable to each peer; empty or 0: unknown
};

// A port of a host's adapter that is cabled to a switch.
struct FabricPort {
  std::string host;
  std::string hca;         // the name on the host: "mlx5_0"
  std::uint64_t guid = 0;  // of the adapter; two GUIDs with the same name mean two machines
  int port = 1;            // number on the adapter
  std::size_t leaf = 0;    // index of the switch
  std::string speed;       // "4xNDR"; empty: unknown
  std::string evidence;    // "dump.txt:17"
};

// A cabled adapter port of a host.
struct Rail {
  std::string hca;
  int port = 1;
  std::string leaf;   // the switch's name
  std::string speed;  // "4xNDR"; empty: unknown
};

struct Fabric {
  Map map;
  std::vector<std::vector<Rail>> rails;  // of map.hosts[i], in natural order of the adapters' names
};

// Converts cables to paths. A switch's level depends only on its distance to the hosts: a leaf is
// cabled to hosts, a spine to a leaf, and so on.
//
// At the leaf level, a domain is a group of leaves, because a host's rails end on several leaves.
// Two leaves are in one group if their common hosts are at least half of the smaller leaf's hosts.
// Exception: they stay in separate groups if each also connects, by adapters with the same name, at
// least as many hosts that the other leaf lacks (for example, if only a management host is on
// both). A leaf also joins no group if it could form groups with two leaves that connect separate
// sets of hosts by adapters with the same name. An example is a leaf for storage that serves
// several racks. If a host's rails (adapter ports) end in several groups, the host belongs to the
// group with most of them.
//
// Above the leaves, a domain of level n contains all switches that are connected by switches at
// distance n or less from the hosts. A level with the same domains as the level below it is left
// out. A dragonfly (dragonfly.h) has two upper levels: the groups and the whole fabric.
//
// `domain_gbps` contains, for each domain, the total bandwidth of its cables to the outside, if the
// input lists each cable once. `links` contains, for each level, the lowest bandwidth of its
// domains.
//
// Two adapters with the same name on one host mean that several machines have this host name. Such
// a host is left out, with a warning. If no cable connects two parts of the fabric, these parts
// become separate domains at the top, with a warning. Errors: no host at all; more levels than
// max_levels.
Result<Fabric> map_of_fabric(const std::string& source, const std::vector<FabricSwitch>& switches,
                             const std::vector<FabricPort>& ports);

// Returns a short name for a set of names in natural order: "leaf-[01-04]-a". If the short name is
// still too long, returns the first name and the number of the other names: "leaf-a+3".
std::string set_name(const std::vector<std::string>& names);

}  // namespace toprun::topology
