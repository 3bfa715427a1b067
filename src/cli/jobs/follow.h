#pragma once

#include <string>

#include "base/os/environment.h"
#include "cli/jobs/job_end.h"
#include "cli/jobs/job_files.h"

namespace toprun::jobs {

// Shows a job's output as it comes, from its beginning, until the job has ended and everything was
// read; of an array job that of all its tasks. Says on stderr what it waits for and how it ended.
// Ctrl-C ends the showing, not the job. Returns the job's exit code (of an array: the highest), 1
// with a line on stderr where it cannot be known, 130 after Ctrl-C.
// `setups`: which jobs of toprun setup it waits for.
int follow_job(const std::string& id, const LogChoice& choice, const Environment& environment,
               const Setups& setups = {});

// The same without the output: waits for the job's end. `record`: the engine's own number of the
// job, where it is known.
int wait_for_job(const std::string& id, const Environment& environment, const Setups& setups = {},
                 const std::string& record = {});

}  // namespace toprun::jobs
