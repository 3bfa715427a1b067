#pragma once

#include "base/environment.h"
#include "jobs/pod_options.h"

namespace toprun::jobs {

// Submits a job of pods by `kubectl create`, or prints its manifest; notes go to stderr. Prints the
// job's name. Returns the exit code.
int submit_pods(const PodOptions& options, const Environment& environment);

}  // namespace toprun::jobs
