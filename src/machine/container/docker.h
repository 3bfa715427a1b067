#pragma once

#include "machine/container/runtime.h"

namespace toprun::container {

// docker-run(1) of 20.10 and newer, which asks a daemon that runs as root: --container-root is real
// root there, and the limits are those that the daemon may give, not this user's.
const Runtime& docker();

}  // namespace toprun::container
