#pragma once

#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "base/os/style.h"
#include "engines/queue.h"

namespace toprun::jobs {

// A job that has ended, according to the engine and its run's report.
struct EndedJob {
  std::string id;
  std::string name;  // empty: unknown
  std::optional<WallTime> ended;
  // Its end; for a job without a known end, as one that never began, its submission. By this time
  // the jobs are sorted.
  std::optional<WallTime> latest;
  std::optional<int> exit_code;
  std::string how;              // the cause, or else the engine's description; may be empty
  std::string how_beside_code;  // `how` without the job's exit code
};

// At most `most` of the user's ended jobs, the latest first. The sources are the jobs that the
// engine remembers, and files in this folder and one level deeper. `queue` may be null.
Result<std::vector<EndedJob>> ended_jobs(const engines::Queue* queue, std::uint32_t uid,
                                         std::size_t most);

// A table with the columns JOBID NAME ENDED CODE HOW. On a terminal, HOW is cut to fit the width.
std::string recent_table(const std::vector<EndedJob>& jobs, const Style& style);
nlohmann::json recent_json(const EndedJob& job);

}  // namespace toprun::jobs
