#pragma once

#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "base/os/style.h"
#include "engines/queue.h"

namespace toprun::jobs {

// A job that has ended, according to the engine and the report.json of its run.
struct EndedJob {
  std::string id;
  std::string name;  // empty: unknown
  std::optional<WallTime> ended;
  // The time by which jobs are sorted: the job's end, or its submission if no end is known.
  std::optional<WallTime> latest;
  std::optional<int> exit_code;
  bool was_cancelled_unstarted = false;
  std::string how;              // the cause, or else the engine's description; may be empty
  std::string how_beside_code;  // `how` without the job's exit code
};

// Returns at most `most` of the user's ended jobs, the latest first, from the jobs that the engine
// remembers, and from files in this folder and one level deeper. `queue` may be null.
Result<std::vector<EndedJob>> ended_jobs(const engines::Queue* queue, std::uint32_t uid,
                                         std::size_t most);

// Returns a table with the columns JOBID NAME ENDED CODE HOW. On a terminal, the column HOW is cut
// to fit the width.
std::string recent_table(const std::vector<EndedJob>& jobs, const Style& style);
nlohmann::json recent_json(const EndedJob& job);

}  // namespace toprun::jobs
