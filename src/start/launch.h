#pragma once

#include "base/environment.h"
#include "base/error.h"
#include "plan/options.h"

namespace toprun::start {

// Runs the job that the options describe, as far as it is this process's part; returns the exit
// code of the whole.
int launch(const plan::Options& options, const Environment& environment);

}  // namespace toprun::start
