#pragma once

#include <string>
#include <vector>

#include "base/os/environment.h"
#include "base/text/error.h"
#include "cli/verbs/setup/options.h"
#include "machine/container/runtime.h"

namespace toprun::cli {

struct Watched {
  Result<int> code;
  std::vector<std::string> last_lines;
};
// Runs a command to its end and passes its output on to stderr. Keeps its last `most` lines.
Watched run_and_show(const std::vector<std::string>& argv, const Environment& environment,
                     std::size_t most);

// Returns the command that builds the image as FILE.part. The suffix of FILE selects the container
// runtime. Error: the runtime is not installed here, or does not support the source.
Result<container::Command> image_command(const SetupOptions& options,
                                         const Environment& environment);

// Builds the image on this machine, and renames FILE.part when it is complete. Paths are absolute.
// Returns the exit code.
int build_image(const SetupOptions& options, const Environment& environment);

// Builds the virtual environment on this machine. The output of the programs goes to stderr. Paths
// are absolute. Returns the exit code.
int build_venv(const SetupOptions& options, const Environment& environment);

}  // namespace toprun::cli
