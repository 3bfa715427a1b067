#pragma once

#include "base/os/environment.h"

namespace toprun::cli {

// Whether a login to this host or pod has started this process, whose orders come on standard
// input.
bool awaits_login_orders(const Environment& environment);

// Reads its orders from standard input, becomes what they ask for, and says the exit code as its
// last word: ssh's or kubectl's exit code may not be the agent's.
int run_login_agent(Environment environment);

}  // namespace toprun::cli
