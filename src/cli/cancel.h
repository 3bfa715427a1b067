#pragma once

#include <string>
#include <vector>

#include "base/environment.h"

namespace toprun::cli {

// `toprun cancel ID...`: ends jobs, or sends them a signal.
int run_cancel(const std::vector<std::string>& arguments, const Environment& environment);

}  // namespace toprun::cli
