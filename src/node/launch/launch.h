#pragma once

#include <string>

#include "base/os/environment.h"
#include "node/plan/job.h"
#include "node/plan/options.h"

namespace toprun::launch {

// Runs this process's part of the job that the options describe; returns the exit code of the whole
// job.
int launch(const plan::Options& options, const Environment& environment);

// Describes in plain text what `toprun` would do here: this process's role in the job, all numbers
// with their sources, and the exact commands. Secrets are shown as <secret>.
Result<std::string> describe(const plan::Job& job);

}  // namespace toprun::launch
