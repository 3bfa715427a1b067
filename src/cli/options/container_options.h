#pragma once

#include <string>
#include <vector>

#include "base/os/environment.h"
#include "base/text/error.h"
#include "cli/options/split.h"
#include "machine/container/container.h"

namespace toprun::options {

// Parses --container and its companion options, like run_options(). If neither an image nor an
// environment definition file (EDF) is given, companion options only cause a note, because a
// project's toprun.toml may set them for command lines with an image. Pure: paths stay as typed,
// and the EDF is not read. Errors have exit_usage.
Result<container::Request> container_options(const Split& split, const Environment& environment,
                                             std::vector<std::string>& notes);

// Makes paths absolute and adds the settings of the environment definition file. Reads this file
// and the current folder. Adds notes about settings without effect.
Result<void> complete(container::Request& request, const Environment& environment,
                      std::vector<std::string>& notes);

// Returns command-line words from which container_options() produces the same request.
std::vector<std::string> container_words(const container::Request& request);

}  // namespace toprun::options
