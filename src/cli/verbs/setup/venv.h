#pragma once

#include "base/os/environment.h"
#include "cli/verbs/setup/options.h"

namespace toprun::cli {

// Builds the virtual environment on this machine. The output of the programs goes to stderr. Paths
// are absolute. Returns the exit code.
int build_venv(const SetupOptions& options, const Environment& environment);

}  // namespace toprun::cli
