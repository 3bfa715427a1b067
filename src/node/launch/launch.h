#pragma once

#include "base/os/environment.h"
#include "node/plan/options.h"

namespace toprun::launch {

// Runs this process's part of the job that the options describe; returns the exit code of the whole
// job.
int launch(const plan::Options& options, const Environment& environment);

}  // namespace toprun::launch
