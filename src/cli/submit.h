#pragma once

#include <string>
#include <vector>

#include "base/environment.h"

namespace toprun::cli {

// `toprun submit`: writes a batch script, keeps it beside the logs, submits it and prints the job's
// id. Returns the exit code; with --wait the job's.
int run_submit(const std::vector<std::string>& arguments, const Environment& environment);

}  // namespace toprun::cli
