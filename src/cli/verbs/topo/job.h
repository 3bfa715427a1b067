#pragma once

#include <string>
#include <vector>

#include "base/text/error.h"
#include "cli/options/call.h"
#include "decide/placement/order.h"
#include "decide/topology/tree.h"

namespace toprun::cli {

// The input of the verbs of `toprun topo`: hosts and their known places.

struct PlacedJob {
  std::vector<placement::Host> hosts;
  topology::Map map;
  std::string topology;    // --topology
  int nproc_per_node = 1;  // of hosts without a number of their own
};

// Hosts: --hosts, else the Slurm step or allocation, else all that the topology knows. Outside of a
// job `auto` asks this machine's Slurm.
Result<PlacedJob> find_job(const options::Call& call);

// Reports missing evidence on stderr: the warnings, and whether no place is known at all.
void say_what_is_unknown(const std::string& source, const std::vector<std::string>& warnings);

}  // namespace toprun::cli
