#pragma once

#include <string>

#include "base/environment.h"
#include "base/error.h"
#include "cli/setup_options.h"
#include "container/runtime.h"

namespace toprun::cli {

// Which runtime makes such a file, by its ending, and how: it writes FILE.part. Error: none here,
// or it takes no such source.
Result<container::Command> image_command(const SetupOptions& options,
                                         const Environment& environment);

// Builds the image here; it gets its name when it is whole. Paths are absolute. Returns the exit
// code.
int build_image(const SetupOptions& options, const Environment& environment);

}  // namespace toprun::cli
