#pragma once

#include "options/call.h"

namespace toprun::cli {

// `toprun topo convert …`: the network as another program describes one (stdout), in one of the
// forms of placement/convert.h; what that form has no words for (stderr).
Result<int> run_topo_convert(const options::Call& call);

}  // namespace toprun::cli
