#pragma once

#include "base/os/environment.h"
#include "cli/options/split.h"
#include "cli/pods/options.h"

namespace toprun::pods {

// Submits a job of pods by `runai`, or prints that command; notes go to stderr. Prints the job's
// name. Returns the exit code. `split`: the command line, for what Run:AI alone has.
int submit_to_runai(const PodOptions& options, const options::Split& split,
                    const Environment& environment);

}  // namespace toprun::pods
