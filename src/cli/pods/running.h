#pragma once

#include <string>

#include "base/os/environment.h"
#include "base/text/error.h"

namespace toprun::pods {

// Shows the output of a job, if the engine stores the output. The engine's own program, such as
// kubectl, writes the output to stdout. Error: the job is unknown, or it has no output because its
// pods do not run; the error contains the reason.
Result<int> show_pods(const std::string& id, const Environment& environment);

// Shows the output until the job ends, and returns the job's exit code. Prints why pods wait. Even
// if the pods can never run, follow_pods() waits until the job ends. `record`: the job's number in
// the engine (Job::number), if known.
Result<int> follow_pods(const std::string& id, const std::string& record,
                        const Environment& environment);

// Opens a shell on this terminal in a pod of a running job. `text` selects the pod: "dev" for the
// first pod, "dev/2" by number, "dev/dev-worker-1" by name. Returns the shell's exit code. With
// `dry_run`, only prints the command.
Result<int> open_pod_shell(const std::string& text, bool dry_run, const Environment& environment);

}  // namespace toprun::pods
