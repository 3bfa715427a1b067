#pragma once

#include "cli/options/call.h"

namespace toprun::cli {

// `toprun topo convert …`: the network in another program's format (stdout), one of the forms of
// observe/report/convert.h; facts that the format cannot express go to stderr.
Result<int> run_topo_convert(const options::Call& call);

}  // namespace toprun::cli
