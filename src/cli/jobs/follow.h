#pragma once

#include <string>

#include "base/os/environment.h"
#include "cli/jobs/job_files.h"
#include "cli/jobs/job_words.h"

namespace toprun::jobs {

// Shows a job's output from the beginning, and then each new line, until the job has ended and all
// output was read. For an array job, shows the output of all tasks. Prints on stderr what the job
// waits for and how the job ended. Ctrl-C stops only the display, not the job. Returns the job's
// exit code (for an array the highest), 1 with a line on stderr if the code is unknown, or 130
// after Ctrl-C. `setups`: the jobs of `toprun setup` that this job waits for.
int follow_job(const std::string& id, const LogChoice& choice, const Environment& environment,
               const Setups& setups = {});

// Waits for the job's end, like follow_job(), but shows no output. `record`: the job's number in
// the engine (Job::number), if known.
int wait_for_job(const std::string& id, const Environment& environment, const Setups& setups = {},
                 const std::string& record = {});

}  // namespace toprun::jobs
