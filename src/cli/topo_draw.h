#pragma once

#include <string>
#include <vector>

#include "base/environment.h"

namespace toprun::cli {

// `toprun topo draw …`: a picture of the domains and of the ring that an order of the job's nodes
// makes (stdout); what is not known (stderr). Returns the exit code.
int run_topo_draw(const std::vector<std::string>& arguments, const Environment& environment);

}  // namespace toprun::cli
