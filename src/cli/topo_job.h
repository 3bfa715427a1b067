#pragma once

#include <string>
#include <vector>

#include "base/error.h"
#include "options/call.h"
#include "placement/order.h"
#include "topology/tree.h"

namespace toprun::cli {

// What the verbs of `toprun topo` share: which hosts, and what is known of their places.

struct Job {
  std::vector<placement::Host> hosts;
  topology::Map map;
  std::string topology;    // --topology
  int nproc_per_node = 1;  // of hosts that are given no number of their own
};

// Hosts: --hosts, else the Slurm step or allocation, else all that the topology knows. Outside of a
// job `auto` asks the Slurm of this machine what its jobs would find.
Result<Job> find_job(const options::Call& call);

// Says what evidence is missing (stderr): the warnings, and where nothing is known at all.
void say_what_is_unknown(const std::string& source, const std::vector<std::string>& warnings);

}  // namespace toprun::cli
