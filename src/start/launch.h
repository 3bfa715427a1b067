#pragma once

#include "base/environment.h"
#include "base/error.h"
#include "plan/options.h"

namespace toprun::start {

// Runs this process's part of the job that the options describe; returns the exit code of the whole
// job.
int launch(const plan::Options& options, const Environment& environment);

}  // namespace toprun::start
