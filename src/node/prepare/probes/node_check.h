#pragma once

#include <chrono>
#include <string>

#include "base/os/environment.h"
#include "base/text/error.h"

namespace toprun::probes {

// How long the command of --node-check may take. A node on which it takes longer is unfit.
inline constexpr std::chrono::seconds node_check_limit{10};
// How much longer an agent waits for check_node(), which needs time to start and kill the command.
inline constexpr std::chrono::seconds node_check_margin{5};

// Runs the site's own check of this node by `sh -c`. Blocks. The error says why the node is unfit:
// the exit code and the last line of the command's stderr, or of its stdout if stderr is empty.
Result<void> check_node(const std::string& command, const Environment& environment);

}  // namespace toprun::probes
