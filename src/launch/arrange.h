#pragma once

#include <string>
#include <vector>

#include "base/error.h"
#include "launch/options.h"
#include "rendezvous/messages.h"
#include "topology/tree.h"
#include "view/report.h"

namespace toprun::launch {

// Every member's part of the job, without where the store is.
struct Arrangement {
  std::vector<rendezvous::Assignment> parts;  // one per member, in the members' order
  std::vector<std::size_t> nodes;             // the member that stands for each node, by group rank
  std::size_t store_host = 0;                 // the member that gets rank 0
  view::OrderRecord order;
};

// Orders the nodes by the options and the evidence, and ranks along that order; pure. Members that
// become ranks in place are grouped by their node. `map` knows the members' nodes by name; `before`
// is the order of the attempt before, by nodes' names, empty in the first.
Result<Arrangement> arrange(const std::vector<rendezvous::Join>& members, const Options& options,
                            const topology::Map& map, const std::vector<std::string>& before = {});

}  // namespace toprun::launch
