#pragma once

#include "cli/options/call.h"

namespace toprun::cli {

// `toprun topo order …`: the job's nodes with their ranks in topology order (stdout), in one of the
// forms of observe/report/formats.h. Unknown facts go to stderr; with the default form also the
// number of pairs of the node ring that leave a domain, per level.
Result<int> run_topo_order(const options::Call& call);

}  // namespace toprun::cli
