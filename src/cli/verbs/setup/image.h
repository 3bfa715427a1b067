#pragma once

#include <string>

#include "base/os/environment.h"
#include "base/text/error.h"
#include "cli/verbs/setup/options.h"
#include "machine/container/runtime.h"

namespace toprun::cli {

// The command that builds such an image; the file's suffix selects the runtime. It writes
// FILE.part. Error: there is no such runtime here, or it does not support the source.
Result<container::Command> image_command(const SetupOptions& options,
                                         const Environment& environment);

// Builds the image here and renames it when it is complete. Paths are absolute. Returns the exit
// code.
int build_image(const SetupOptions& options, const Environment& environment);

}  // namespace toprun::cli
