#pragma once

#include <string>

#include "base/os/environment.h"
#include "base/text/error.h"

namespace toprun::pods {

// The output of a job whose engine keeps it, by the engine's own program, which writes to stdout.
// Error: the job is unknown, or has printed nothing because its pods do not run, with the reason.
Result<int> show_pods(const std::string& id, const Environment& environment);

// The same until the job's end; its exit code. Says why pods wait; ends when they can never run
// only if the job does. `record`: the engine's own number of the job, where it is known.
Result<int> follow_pods(const std::string& id, const std::string& record,
                        const Environment& environment);

}  // namespace toprun::pods
