#pragma once

#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "base/os/look.h"
#include "engines/queue.h"

namespace toprun::jobs {

// A job that ended, from the engine's memory and its run's report.
struct EndedJob {
  std::string id;
  std::string name;  // empty: unknown
  std::optional<WallTime> ended;
  std::optional<int> exit_code;
  std::string how;              // the cause, else the engine's word; may be empty
  std::string how_beside_code;  // the same without the job's exit code
};

// The user's jobs that have ended, the latest first, `most` of them: those that the engine
// remembers, and those that left their files in this folder or just below it. `queue` may be null.
Result<std::vector<EndedJob>> ended_jobs(const engines::Queue* queue, std::uint32_t uid,
                                         std::size_t most);

// The columns JOBID NAME ENDED CODE HOW; on a terminal HOW is shortened to its width.
std::string recent_table(const std::vector<EndedJob>& jobs, const Look& look);
nlohmann::json recent_json(const EndedJob& job);

}  // namespace toprun::jobs
