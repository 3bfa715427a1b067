#pragma once

#include <string>
#include <vector>

#include "base/error.h"
#include "launch/options.h"
#include "rendezvous/messages.h"
#include "topology/tree.h"

namespace toprun::launch {

// Every member's part of the job, without where the store is.
struct Arrangement {
  std::vector<rendezvous::Assignment> parts;  // one per member, in the members' order
  std::vector<std::size_t> nodes;             // the member that stands for each node, by group rank
  std::size_t store_host = 0;                 // the member that gets rank 0
  std::string order;                          // which order it is and why, in words
  std::vector<std::string> warnings;
  std::vector<std::string> unplaced;  // nodes without evidence of their place
};

// Orders the nodes by the options and the evidence, and ranks along that order; pure. Members that
// become ranks in place are grouped by their node. `map` knows the members' nodes by name.
Result<Arrangement> arrange(const std::vector<rendezvous::Join>& members, const Options& options,
                            const topology::Map& map);

}  // namespace toprun::launch
