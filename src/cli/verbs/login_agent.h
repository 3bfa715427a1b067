#pragma once

#include "base/os/environment.h"

namespace toprun::cli {

// Whether a login to this host or pod started this process. The process then reads its orders from
// standard input.
bool awaits_login_orders(const Environment& environment);

// Reads the orders from standard input and executes them. Prints the exit code as the last output,
// because ssh and kubectl may end with another exit code than the agent.
int run_login_agent(Environment environment);

}  // namespace toprun::cli
