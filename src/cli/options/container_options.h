#pragma once

#include <string>
#include <vector>

#include "base/os/environment.h"
#include "base/text/error.h"
#include "cli/options/split.h"
#include "machine/container/container.h"

namespace toprun::options {

// --container and its companion options, read like run_options(). Companions without an image or an
// EDF cause a note and no error: a project's file may set them for calls that name an image. Pure:
// paths are as typed, the EDF is not read. Errors have exit_usage.
Result<container::Wanted> container_options(const Split& split, const Environment& environment,
                                            std::vector<std::string>& notes);

// Makes the paths absolute and adds the EDF's settings. Reads the EDF and the current folder; notes
// settings without effect.
Result<void> complete(container::Wanted& wanted, const Environment& environment,
                      std::vector<std::string>& notes);

// The words that container_options() reads back as this.
std::vector<std::string> container_words(const container::Wanted& wanted);

}  // namespace toprun::options
