#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "decide/topology/tree.h"

namespace toprun::topology {

// x, y, z.
using Coordinates = std::array<std::uint16_t, 3>;

// A box in a torus with its hosts in Slurm's order: x changes fastest, then y, then z.
struct TorusRegion {
  Coordinates anchor{};  // its first corner
  Coordinates dims{};
  std::vector<std::string> nodes;
  std::string where;     // "topology.yaml:7:3", for errors
  std::string evidence;  // "topology.yaml:7"
};

struct Torus {
  std::string name;
  Coordinates dims{};
  std::vector<TorusRegion> regions;
};

// Hosts in the order in which the ring connects them.
struct Ring {
  std::string name;
  std::vector<std::string> nodes;
  std::string where;
  std::string evidence;
};

// Returns the path of a host in a torus. A torus has no domains, so the levels of the path are
// planes (equal z) and rows (equal y). Each host also has a position (seat) in a serpentine order.
// The planes begin at z = 0; the rows, and the hosts in a row, alternate in direction. In that
// order, neighbours are one link apart. The last host of that order is one link from the first if
// the torus has an even number of planes. The levels are "torus", "plane" and "row".
Path torus_path(std::string_view torus, const Coordinates& at);
std::vector<std::string> torus_level_names();

// Converts toruses to a map. Errors: a host that is listed twice; a region that is not inside its
// torus or whose number of hosts differs from its number of places.
Result<Map> map_of_toruses(std::string source, const std::vector<Torus>& toruses);

// Converts rings to a map. The only level is "ring"; the seats follow the order of the list. Error:
// a host that is listed twice.
Result<Map> map_of_rings(std::string source, const std::vector<Ring>& rings);

}  // namespace toprun::topology
