#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/text/error.h"
#include "cli/options/call.h"
#include "decide/placement/order.h"
#include "decide/topology/tree.h"

namespace toprun::cli {

// The input of the verbs of `toprun topo`: hosts and their known locations.

struct PlacedJob {
  std::vector<placement::Host> hosts;
  topology::Map map;
  std::string topology;    // --topology
  int nproc_per_node = 1;  // the number of processes on hosts that have no number of their own
};

// Finds the hosts: from --hosts, else from the Slurm step or allocation, else all hosts in the
// topology. Outside of a job, --topology auto queries Slurm on this machine.
Result<PlacedJob> find_job(const options::Call& call);

// The hosts in a value of --order.
struct OrderText {
  std::string text;  // as place_as_listed() takes it
  std::string from;  // the file, or "--order" for a list on the command line
  bool is_file = true;
};
// Reads the value of --order: "file:PATH", as for a launch, or only PATH, or a list such as
// "n1,n0". Error: the file cannot be read.
Result<OrderText> read_order_option(const std::string& order);

// Prints the warnings about missing topology data on stderr. If no host's location is known, says
// so too.
void say_what_is_unknown(const std::string& source, const std::vector<std::string>& warnings);

// Returns the node order's constraints from the options of `topo order` and `topo draw`. `plan` was
// parsed before. Errors: a wrong number; the file of --stable is unreadable or has no order.
Result<placement::Constraints> constraints_of(const options::Call& call,
                                              std::optional<placement::Plan> plan);

}  // namespace toprun::cli
