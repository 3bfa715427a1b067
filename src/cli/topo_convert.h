#pragma once

#include <string>
#include <vector>

#include "base/environment.h"

namespace toprun::cli {

// `toprun topo convert …`: the network as another program describes one (stdout), in one of the
// forms of placement/convert.h; what that form has no words for (stderr). Returns the exit code.
int run_topo_convert(const std::vector<std::string>& arguments, const Environment& environment);

}  // namespace toprun::cli
