#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/json/json_text.h"
#include "decide/placement/order.h"

namespace toprun::placement {

// The quality of an order of nodes for the groups of one kind.
struct GroupScore {
  cost::Kind kind = cost::Kind::tp;
  std::size_t size = 0;  // ranks per group
  std::size_t groups = 0;
  std::size_t nodes = 0;  // highest number of nodes that a group of this kind uses
  // By level: the number of groups with ranks in several of the level's domains. A node in an
  // unknown domain counts as a domain of its own.
  std::vector<std::size_t> spanning;
  double cost = 0;  // total time of all links per step, in seconds (mapping.h)
};

// Returns one score for each kind of group with traffic. `cost` is NaN if too many pairs of nodes
// exchange data.
std::vector<GroupScore> score_groups(const Placement& placement, const Prepared& prepared);

// Explains for which kinds some groups cannot stay inside one innermost domain, and why. Returns
// one line for each of these kinds.
std::vector<std::string> explain_groups(const Placement& placement,
                                        const std::vector<GroupScore>& scores);

// Compares the possible orders of a job's nodes: how good each order is for the job's groups of
// ranks.
struct GroupTable {
  struct Row {
    std::string_view order;  // given, name, torchrun, topology, parallel
    std::vector<GroupScore> kinds;
    double cost = 0;  // total of all kinds
  };
  std::vector<std::string> levels;
  std::vector<Row> rows;
  std::optional<Mapping> mapping;  // only for the order `parallel`; its `nodes` are empty
  std::vector<std::string> warnings;
};

// Computes the table. Errors: those of place().
Result<GroupTable> tabulate_groups(const std::vector<Host>& hosts, const topology::Map& map,
                                   const Plan& plan);

// Returns the table as text: a row for each order and kind, with a column for each level. After
// these rows, each order has one more row with its total over all kinds. The last row contains the
// lowest total that any order can have; if this total is unknown, the row contains the lower bound.
std::string groups_text(const GroupTable& table);

// Returns the member "parallel" of a JSON object: {orders: [{name, cost, groups: [{kind, size,
// groups, spanning: {LEVEL: count}, cost}]}], bound, exact}. Costs are in seconds, null if unknown.
std::string groups_json(const GroupTable& table);

// Describes the quality of the mapping in one line: "links are busy …".
std::string mapping_text(const Mapping& mapping);

// Returns {cost, plain, bound, exact}; costs are in seconds.
std::string mapping_json(const Mapping& mapping);

// The teams of a job's nodes. Two nodes are in the same team if a parallel group of one kind has
// ranks on both, or if a chain of such nodes connects them.
struct Teams {
  struct Range {
    std::size_t first = 0, last = 0;
  };
  cost::Kind kind = cost::Kind::dp;
  std::size_t count = 0;
  std::vector<std::size_t> of_node;  // the team of each position in the order; teams are numbered
                                     // by their first node
};

// Returns the teams of a kind. If `kind` is nullopt, selects the kind with the most traffic. In
// this selection, kinds with several teams have priority over kinds with a single team. Returns
// nullopt if no group of this kind (without `kind`: of any kind) is on two nodes.
std::optional<Teams> teams_of(const Placement& placement, const Prepared& prepared,
                              std::optional<cost::Kind> kind);

}  // namespace toprun::placement
