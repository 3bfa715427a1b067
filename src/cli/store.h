#pragma once

#include <string>
#include <vector>

#include "base/environment.h"

namespace toprun::cli {

// `toprun store`, with the arguments after the verb: a PyTorch TCPStore server until SIGINT or
// SIGTERM, which are its normal end. Returns the exit code.
int run_store(const std::vector<std::string>& arguments, const Environment& environment);

}  // namespace toprun::cli
