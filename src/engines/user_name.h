#pragma once

#include <chrono>
#include <string>

#include "base/os/environment.h"

namespace toprun::engines {

// The user name of this process. The name comes from USER or LOGNAME. If both are unset, as in cron
// jobs and containers, the name comes from `id -un`. "uid-1000" if the host knows no name. Blocks
// for at most `limit`.
std::string user_name(const Environment& environment, std::chrono::milliseconds limit);

}  // namespace toprun::engines
