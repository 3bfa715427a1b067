#pragma once

#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "base/look.h"
#include "scheduler/queue.h"

namespace toprun::jobs {

// A job that is over: what the engine remembers of it, and what its run said of itself.
struct EndedJob {
  std::string id;
  std::string name;  // empty: not told
  std::optional<WallTime> ended;
  std::optional<int> exit_code;
  std::string how;  // the cause, else the engine's word; may be empty
};

// The user's jobs that have ended, the latest first, `most` of them: those that the engine
// remembers, and those that left their files in this folder or just below it. `queue` may be null.
Result<std::vector<EndedJob>> ended_jobs(const scheduler::Queue* queue, std::uint32_t uid,
                                         std::size_t most);

// JOBID NAME ENDED CODE HOW, the last on a terminal shortened to its width.
std::string recent_table(const std::vector<EndedJob>& jobs, const Look& look);
nlohmann::json recent_json(const EndedJob& job);

}  // namespace toprun::jobs
