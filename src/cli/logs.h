#pragma once

#include <string>
#include <vector>

#include "base/environment.h"

namespace toprun::cli {

// `toprun logs ID`: what a job has printed, with -f until its end.
int run_logs(const std::vector<std::string>& arguments, const Environment& environment);

}  // namespace toprun::cli
