#pragma once

#include "base/os/environment.h"
#include "base/text/error.h"
#include "cli/verbs/setup/options.h"
#include "machine/container/runtime.h"

namespace toprun::cli {

// Returns the command that builds the image FILE as FILE.part. The suffix of FILE selects the
// container runtime. Error: the runtime is not installed here, or cannot build from this source.
Result<container::Command> image_command(const SetupOptions& options,
                                         const Environment& environment);

// Builds FILE.part on this machine, and renames it to FILE when it is complete. Paths are absolute.
// Returns the exit code.
int build_image(const SetupOptions& options, const Environment& environment);

// Builds the virtual environment on this machine. The output of pip and other programs goes to
// stderr. Paths are absolute. Returns the exit code.
int build_venv(const SetupOptions& options, const Environment& environment);

}  // namespace toprun::cli
