#pragma once

#include "cli/options/call.h"

namespace toprun::cli {

// `toprun store`, with the arguments after the verb: a PyTorch TCPStore server until SIGINT or
// SIGTERM, which are its normal end.
Result<int> run_store(const options::Call& call);

}  // namespace toprun::cli
