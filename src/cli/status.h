#pragma once

#include <string>
#include <vector>

#include "base/environment.h"

namespace toprun::cli {

// `toprun status ID`: all that is known of one job, the engine's part and the run's own report.
int run_status(const std::vector<std::string>& arguments, const Environment& environment);

}  // namespace toprun::cli
