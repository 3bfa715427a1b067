#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/os/environment.h"
#include "base/process/command.h"
#include "base/text/error.h"
#include "machine/container/runtime.h"

namespace toprun::container {

// The runtime named by --container-runtime. For "auto", it is the first runtime in runtimes() that
// accepts this image and exists on this node. pyxis exists if the engine has it. Every other
// runtime exists if its program is in a folder of PATH. Errors: an unknown name; a runtime that
// does not accept the image (exit_usage); no runtime on this node. The last error lists every
// folder that was searched, and what to install or load.
Result<const Runtime*> choose(const Request& request, const Environment& environment,
                              const process::IsExecutable& is_executable, bool engine_has_pyxis);

// The runtime with exactly this name; nullptr: there is no such runtime.
const Runtime* find_runtime(std::string_view name);

std::vector<std::string> runtime_names();

}  // namespace toprun::container
