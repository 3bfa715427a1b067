#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "placement/order.h"

namespace toprun::placement {

// An order of a job's nodes and how many neighbours in its ring are in another domain.
struct Scored {
  std::string_view name;               // given, name, torchrun, topology
  std::vector<std::size_t> crossings;  // one per level
};

// What the orders that a job could have are worth, side by side.
struct Score {
  std::string source;
  std::vector<std::string> levels;  // outermost first
  std::size_t nodes = 0;
  std::vector<Scored> orders;
  std::vector<std::size_t> minimum;  // of any order, one per level
  std::vector<std::string> unplaced;
  std::vector<std::string> warnings;
};

// Errors: those of place().
Result<Score> score(const std::vector<Host>& hosts, const topology::Map& map);

// A table: a row per order, a column per level; empty where no level is known.
std::string score_text(const Score& score);

// {"schema": "toprun.topo_score/1", source, levels, nodes, orders: [{name, crossings: {LEVEL: N}}],
// minimum: {LEVEL: N}, ring: as in topo_order, unplaced, warnings}, and
// `more`, further members without the braces.
std::string score_json(const Score& score, std::string_view more = {});

}  // namespace toprun::placement
