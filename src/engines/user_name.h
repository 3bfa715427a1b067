#pragma once

#include <chrono>
#include <string>

#include "base/os/environment.h"

namespace toprun::engines {

// The name of the user of this process: USER or LOGNAME, which cron and containers do not set, else
// what `id -un` says; "uid-1000" where the host knows no name. Blocks `limit` at most.
std::string user_name(const Environment& environment, std::chrono::milliseconds limit);

}  // namespace toprun::engines
