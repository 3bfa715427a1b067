#pragma once

#include "machine/container/runtime.h"

namespace toprun::container {

// docker-run(1) of version 20.10 and newer. It uses a daemon that runs as root, so --container-root
// is real root on the host. The limits are those of the daemon, not the user's.
const Runtime& docker();

}  // namespace toprun::container
