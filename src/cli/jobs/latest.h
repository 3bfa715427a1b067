#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/text/clock.h"
#include "base/text/error.h"
#include "cli/jobs/known_job.h"

namespace toprun::jobs {

// The id of the job of this user's that was submitted last from the current folder; of a task of an
// array the array's. By the engine, where it can be asked, and by the files here. Error: there is
// none. Says on stderr which it is.
Result<std::string> latest_job_here(const Environment& environment);

// An id, and when the job was submitted; nullopt: nothing tells.
using Submission = std::pair<std::string, std::optional<WallTime>>;

// By the second, or as far as both times go. Of jobs without one the highest number counts, as
// Slurm numbers jobs as they come; a folder may have jobs of two clusters, or of one whose numbers
// began again. Empty: no jobs. Pure.
std::string latest_of(const std::vector<Submission>& jobs);

}  // namespace toprun::jobs
