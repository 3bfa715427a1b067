#pragma once

#include <cstddef>
#include <vector>

#include "run/model/messages.h"
#include "run/model/record.h"

namespace toprun::run {

// Every member's part of the job, without the store's location.
struct Arrangement {
  std::vector<model::Assignment> parts;  // one per member, in the members' order
  std::vector<std::size_t> nodes;        // the first member of each node, by group rank
  std::size_t store_host = 0;            // the member that gets rank 0
  model::OrderRecord order;
};

}  // namespace toprun::run
