#pragma once

#include <string>
#include <vector>

#include "base/environment.h"

namespace toprun::cli {

// `toprun topo VERB …`; `arguments` are those behind "topo". Data goes to stdout, the rest to
// stderr, an error in one line. Returns the exit code.
int run_topo(const std::vector<std::string>& arguments, const Environment& environment);

}  // namespace toprun::cli
