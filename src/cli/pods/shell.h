#pragma once

#include <string>

#include "base/os/environment.h"
#include "base/text/error.h"

namespace toprun::pods {

// Opens a shell on this terminal in a pod of a running job. `text` selects the pod: "dev" for the
// first pod, "dev/2" by number, "dev/dev-worker-1" by name. Returns the shell's exit code. With
// `dry_run` it only prints the command.
Result<int> open_pod_shell(const std::string& text, bool dry_run, const Environment& environment);

}  // namespace toprun::pods
