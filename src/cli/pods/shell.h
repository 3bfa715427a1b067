#pragma once

#include <string>

#include "base/os/environment.h"
#include "base/text/error.h"

namespace toprun::pods {

// A shell on this terminal in a pod of a running job: "dev" for the first, "dev/2" by its number,
// "dev/dev-worker-1" by its name. Returns the shell's exit code. `dry_run`: prints the command.
Result<int> open_pod_shell(const std::string& text, bool dry_run, const Environment& environment);

}  // namespace toprun::pods
