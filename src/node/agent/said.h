#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "base/text/clock.h"
#include "node/worker/workers.h"

namespace toprun::agent {

// What a rank's output tells who looks at the job.
struct Said {
  std::optional<std::chrono::milliseconds> silence;  // since its last output; unset: none yet
  std::string last_line;                             // as in meter::Rank
  std::vector<std::string> last_lines = {};          // as in meter::Rank

  bool operator==(const Said&) const = default;
};

// Of a job with more ranks, a node tells its newest line alone: the picture of all would be
// megabytes a second.
inline constexpr int most_ranks_with_lines = 4'096;
// … and up to so many ranks several lines each.
inline constexpr int most_ranks_with_several_lines = 256;

// By local rank. `world_size`: the job's ranks.
std::vector<Said> said_by(const std::vector<worker::Workers::LastOutput>& outputs, int world_size,
                          SteadyTime now);

}  // namespace toprun::agent
