#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "topology/tree.h"

namespace toprun::topology {

inline constexpr std::size_t max_rails = 64;              // of one host; real ones have up to 16
inline constexpr std::size_t max_domain_name_bytes = 64;  // longer ones become "first+N"

// A switch and the switches that its cables lead to.
struct FabricSwitch {
  std::string name;                // no other one's
  std::vector<std::size_t> peers;  // indexes; each cable may be named at one end or at both
  std::vector<double> gbps{};      // of the cables to them; empty or 0: not told
};

// A port of a host's adapter that is cabled to a switch.
struct FabricPort {
  std::string host;
  std::string hca;         // as the host calls it: "mlx5_0"
  std::uint64_t guid = 0;  // of the adapter: two with one name belong to two machines
  int port = 1;            // of the adapter
  std::size_t leaf = 0;    // index of the switch
  std::string speed;       // "4xNDR"; empty: not told
  std::string evidence;    // "dump.txt:17"
};

// One way from a host into the fabric.
struct Rail {
  std::string hca;
  int port = 1;
  std::string leaf;   // the switch's name
  std::string speed;  // "4xNDR"; empty: not told
};

struct Fabric {
  Map map;
  std::vector<std::vector<Rail>> rails;  // of map.hosts[i], in natural order of the adapters' names
};

// Turns cables into paths. Only the distance to hosts determines the kind of a switch: a leaf has
// hosts, a spine is next to a leaf, …
//
// leaf: a host's rails end on several leaves, so the locality unit is a group of them. Two leaves
//   are in one group if at least half of the hosts of the smaller one are on both, unless as many
//   others have the same rail on one of the two each, as a manager's neighbours do. A leaf shared
//   by hosts that are apart on another rail (the storage rail of several racks) is in no group with
//   them. A host whose rails end in several groups is in the one where most do.
// upper levels: level n joins what cables connect within n switches from the hosts. A level that
//   joins nothing is omitted, so switches without hosts create no level by themselves. The upper
//   levels of a dragonfly (dragonfly.h) are its groups and the whole fabric.
//
// links: the rate of a domain's cables to the outside together, for the domain with the lowest
// rate; only if the speeds of all cables are known and each cable is listed once.
//
// A host name with two adapters of one name belongs to several machines: it is left out with a
// warning. Parts of the fabric that no cable joins are domains of their own at the top, with a
// warning. Error: no host at all; more than max_levels.
Result<Fabric> map_of_fabric(const std::string& source, const std::vector<FabricSwitch>& switches,
                             const std::vector<FabricPort>& ports);

// A short name for a set of names in natural order: "leaf-[01-04]-a", or "leaf-a+3" for the first
// and three more where that would be long.
std::string set_name(const std::vector<std::string>& names);

}  // namespace toprun::topology
