#pragma once

#include "base/text/error.h"
#include "node/plan/job.h"

namespace toprun::agent {

// Output that is redirected and not shown must be kept: without --log-dir this creates a private
// folder for it, which a note of the job names. Does nothing in a process that only starts agents.
Result<void> keep_redirected(plan::Job& job);

}  // namespace toprun::agent
