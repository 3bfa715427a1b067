#pragma once

#include "base/text/error.h"
#include "node/plan/job.h"

namespace toprun::agent {

// Output that is redirected and not shown must be kept. Without --log-dir this creates a private
// folder for the output and adds a note to the job that names the folder. Does nothing in a process
// that only starts agents.
Result<void> keep_redirected(plan::Job& job);

}  // namespace toprun::agent
