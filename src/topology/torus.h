#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "topology/tree.h"

namespace toprun::topology {

// x, y, z.
using Coordinates = std::array<std::uint16_t, 3>;

// A box of a torus and the hosts in it, x first, then y, then z, as Slurm counts them.
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

// Hosts in the order in which a ring joins them.
struct Ring {
  std::string name;
  std::vector<std::string> nodes;
  std::string where;
  std::string evidence;
};

// A torus has no domains, but a tree of planes (of one z) and rows (of one y) in which each host
// has a seat: the planes from z = 0, their rows to and fro, the hosts of a row to and fro. In that
// order neighbours are one link apart, and the last is one link from the first where the extent
// along z is even. The levels are torus, plane, row.
Path torus_path(std::string_view torus, const Coordinates& at);
std::vector<std::string> torus_level_names();

// Error: a host twice, a region that is not inside its torus or has another number of hosts than
// places.
Result<Map> map_of_toruses(std::string source, const std::vector<Torus>& toruses);

// The level is ring, seats are as the hosts are listed. Error: a host twice.
Result<Map> map_of_rings(std::string source, const std::vector<Ring>& rings);

}  // namespace toprun::topology
