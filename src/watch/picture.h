#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "base/clock.h"
#include "base/error.h"
#include "base/outside.h"
#include "view/phases.h"
#include "watch/board.h"
#include "watch/snapshot.h"

namespace toprun::watch {

// What a reader of a job's picture sees. What is missing in the text, or unknown, is unset.
struct Picture {
  struct Attempt {
    int attempt = 0;
    std::optional<WallTime> started, ended;
    Outside what;  // why it failed, in one line; empty: it has not
  };
  struct Node {
    Outside name, location, logs;
    std::size_t first_rank = 0, ranks = 0;
    std::optional<double> age_s;  // of its figures
    std::optional<double> busy_cpus, received_mb_per_s, sent_mb_per_s;
    std::optional<int> cpus;
    std::optional<double> memory_mib, memory_total_mib;
  };
  struct Rank {
    RankState state = RankState::waits;
    std::optional<double> busy_cpus, memory_mib, silence_s, gpu_percent, gpu_memory_mib;
  };

  Outside name, id, program, root, stage;
  int pid = 0;
  std::optional<WallTime> started, now;
  int least_nodes = 1, most_nodes = 1;
  int attempt = 0, restarts = 0, max_restarts = 0, joined = 0;
  std::vector<Outside> missing;  // the first ones
  std::size_t missing_count = 0;
  view::Phases phases;
  view::Spreads slowest;
  std::optional<view::Awaited> awaited;
  Outside hang;  // one line; empty: none, or it is over
  std::vector<Attempt> attempts;
  std::optional<int> exit_code;  // set: it is over
  std::vector<Message> messages;
  double interval_s = 1;
  std::vector<Node> nodes;  // by group rank
  std::vector<Rank> ranks;
};

inline constexpr std::size_t most_pictured_nodes = 262'144;
inline constexpr std::size_t most_pictured_ranks = 1u << 22;

// Reads schema toprun.live/1. Error: it is something else, or beyond the limits.
Result<Picture> picture_in(const nlohmann::json& object);

}  // namespace toprun::watch
