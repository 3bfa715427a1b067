#pragma once

#include <string>

#include "node/plan/job.h"

namespace toprun::launch {

// Describes in plain text what `toprun` would do here: its place in the job, all counts with their
// sources, and the exact commands. Secrets are shown as <secret>.
Result<std::string> describe(const plan::Job& job);

}  // namespace toprun::launch
