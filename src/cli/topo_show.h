#pragma once

#include <string>
#include <vector>

#include "base/environment.h"

namespace toprun::cli {

// `toprun topo show …`: the domains of the network that hold the job's nodes, as an indented tree
// or, with --json, as one object (stdout); what is not known (stderr). Returns the exit code.
int run_topo_show(const std::vector<std::string>& arguments, const Environment& environment);

}  // namespace toprun::cli
