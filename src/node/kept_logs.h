#pragma once

#include "base/error.h"
#include "plan/job.h"

namespace toprun::node {

// What is redirected and not shown has to be kept: without --log-dir in a new folder that is this
// user's alone, which a note of the job names. Does nothing in a process that only starts agents.
Result<void> keep_redirected(plan::Job& job);

}  // namespace toprun::node
