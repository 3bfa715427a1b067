#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "base/json_writer.h"
#include "placement/order.h"

namespace toprun::placement {

// What an order of nodes means to the groups of one kind.
struct GroupScore {
  Kind kind = Kind::tp;
  std::size_t size = 0;  // ranks of a group
  std::size_t groups = 0;
  std::size_t nodes = 0;              // of the group that is on the most
  std::vector<std::size_t> spanning;  // by level: groups in more than one of its domains, where a
                                      // node whose domain is not known is alone in one
  double cost = 0;                    // seconds of links' time per step (mapping.h)
};

// One for each kind that sends anything. Where too many pairs of nodes send to each other, `cost`
// is not a number.
std::vector<GroupScore> score_groups(const Placement& placement, const Prepared& prepared);

// A line for each kind whose groups cannot all stay inside the innermost domains, with the reason.
std::vector<std::string> explain_groups(const Placement& placement,
                                        const std::vector<GroupScore>& scores);

// What the orders that a job could have mean to its groups.
struct GroupTable {
  struct Row {
    std::string_view order;  // given, name, torchrun, topology, parallel
    std::vector<GroupScore> kinds;
    double cost = 0;  // of all kinds
  };
  std::vector<std::string> levels;
  std::vector<Row> rows;
  std::optional<Mapping> mapping;  // of parallel; its nodes left out
  std::vector<std::string> warnings;
};

// Errors: those of place().
Result<GroupTable> tabulate_groups(const std::vector<Host>& hosts, const topology::Map& map,
                                   const Plan& plan);

// A row per order and kind, a column per level; then the sum of each order, and the least that any
// order has, or where that is not known, the bound.
std::string groups_text(const GroupTable& table);

// `"parallel": {orders: [{name, cost, groups: [{kind, size, groups, spanning: {LEVEL: N}, cost}]}],
// bound, exact}`, a member of an object; costs in seconds, null where they are not known.
std::string groups_json(const GroupTable& table);

// "links are busy …": what the mapping is worth, in one line.
std::string mapping_text(const Mapping& mapping);

// {cost, plain, bound, exact}; in seconds.
std::string mapping_json(const Mapping& mapping);

}  // namespace toprun::placement
