#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "base/text/clock.h"
#include "node/worker/workers.h"

namespace toprun::agent {

// What a rank's output shows to a client that watches the job.
struct Said {
  // Time since the rank's last output; unset: no output yet.
  std::optional<std::chrono::milliseconds> silence;
  std::string last_line;                     // same meaning as in meter::Rank
  std::vector<std::string> last_lines = {};  // same meaning as in meter::Rank

  bool operator==(const Said&) const = default;
};

// In a job with more ranks than this, a node reports only its newest line, because the lines of all
// ranks would be megabytes per second.
inline constexpr int most_ranks_with_lines = 4'096;
// In a job with at most this number of ranks, a node reports several lines for each rank.
inline constexpr int most_ranks_with_several_lines = 256;

// The result is indexed by local rank. `world_size`: the number of ranks in the job.
std::vector<Said> said_by(const std::vector<worker::Workers::LastOutput>& outputs, int world_size,
                          SteadyTime now);

}  // namespace toprun::agent
