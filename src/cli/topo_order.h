#pragma once

#include "options/call.h"

namespace toprun::cli {

// `toprun topo order …`: the job's nodes with their ranks in topology order (stdout), in one of the
// forms of placement/formats.h. What is not known goes to stderr, with the default form also how
// many pairs of the node ring leave a domain, per level.
Result<int> run_topo_order(const options::Call& call);

}  // namespace toprun::cli
