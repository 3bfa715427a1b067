#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/text/clock.h"
#include "base/text/error.h"
#include "cli/jobs/known_job.h"

namespace toprun::jobs {

// The id of the job that this user last submitted from the current folder; for a task of an array,
// the array's id. The sources are the engine, if it is available, and the files in the folder.
// Error: no job was found. Prints the job on stderr.
Result<std::string> latest_job_here(const Environment& environment);

// A job's id and its time of submission; nullopt if the time is unknown.
using Submission = std::pair<std::string, std::optional<WallTime>>;

// The id of the latest submission; empty if there are no jobs. Two times are compared with the
// precision that both have. Two jobs without times are compared by number, because Slurm numbers
// jobs in order of submission. Times have priority over numbers, because a folder can contain jobs
// of two clusters, or of a cluster that restarted its numbering. Pure.
std::string latest_of(const std::vector<Submission>& jobs);

}  // namespace toprun::jobs
