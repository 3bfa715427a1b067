#pragma once

#include <string>
#include <vector>

#include "base/environment.h"
#include "base/error.h"
#include "container/container.h"
#include "options/split.h"

namespace toprun::options {

// --container and the options beside it, as run_options() reads any. What is given without an image
// or an EDF is a note, no error: a project's file may say it for the calls that name one. Pure:
// paths are as typed, the EDF is not read. Errors have exit_usage.
Result<container::Wanted> container_options(const Split& split, const Environment& environment,
                                            std::vector<std::string>& notes);

// With it the paths are absolute and what an EDF says is there. Reads the EDF and the folder that
// we are in; adds what has no effect to the notes.
Result<void> complete(container::Wanted& wanted, const Environment& environment,
                      std::vector<std::string>& notes);

// The words that container_options() reads back as this.
std::vector<std::string> container_words(const container::Wanted& wanted);

}  // namespace toprun::options
