#pragma once

#include "cli/options/call.h"

namespace toprun::cli {

// `toprun topo draw …`: a picture of the domains and of the ring that an order of the job's nodes
// makes (stdout); unknown facts go to stderr.
Result<int> run_topo_draw(const options::Call& call);

}  // namespace toprun::cli
