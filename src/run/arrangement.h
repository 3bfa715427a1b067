#pragma once

#include <cstddef>
#include <vector>

#include "rendezvous/messages.h"
#include "view/report.h"

namespace toprun::run {

// Every member's part of the job, without where the store is.
struct Arrangement {
  std::vector<rendezvous::Assignment> parts;  // one per member, in the members' order
  std::vector<std::size_t> nodes;             // the member that stands for each node, by group rank
  std::size_t store_host = 0;                 // the member that gets rank 0
  view::OrderRecord order;
};

}  // namespace toprun::run
