#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/os/environment.h"
#include "base/process/program.h"
#include "base/text/error.h"
#include "machine/container/runtime.h"

namespace toprun::container {

// The runtime that --container-runtime names, or for "auto" the first of runtimes() that takes this
// image and that this node has: pyxis where the engine has it, the others in a folder of PATH.
// Errors: an unknown name; a runtime that does not take the image (exit_usage); none here, with
// every place that was looked at and what to install or load.
Result<const Runtime*> choose(const Wanted& wanted, const Environment& environment,
                              const process::IsExecutable& is_executable, bool engine_has_pyxis);

// The runtime of exactly this name; nullptr: there is none.
const Runtime* find_runtime(std::string_view name);

std::vector<std::string> runtime_names();

}  // namespace toprun::container
