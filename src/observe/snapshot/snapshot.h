#pragma once

#include <chrono>
#include <cstddef>
#include <deque>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "base/text/clock.h"
#include "observe/snapshot/board.h"
#include "run/model/record.h"

// The picture of a running job, schema toprun.live/1 (docs/reference/live.md), in three parts that
// change at different speeds.
namespace toprun::snapshot {

struct Message {
  WallTime at{};
  std::string text;  // one line or several, as the user saw them
};
inline constexpr std::size_t most_messages = 100;
inline constexpr std::size_t most_missing = 20;  // names

// The run as its root knows it.
struct Run {
  model::RunRecord record;
  std::string id;  // the engine's, or the job's own
  std::string stage;
  int least_nodes = 1;
  int most_nodes = 1;
  int max_restarts = 0;
  std::optional<WallTime> limit;          // when its engine ends it; unset: not known
  std::string node_log;                   // the folder of --node-log; empty: none
  std::size_t joined = 0;                 // nodes
  std::vector<std::string> missing;       // nodes that are awaited, if the engine names them
  bool hangs = false;                     // the last attempt's hang goes on
  std::deque<Message> messages;           // the last ones
  std::chrono::milliseconds interval{0};  // between two figures
};

// The current attempt's nodes; none before their ranks are assigned.
const std::vector<model::NodeRecord>& nodes_of(const model::RunRecord& run);

nlohmann::json job_json(const Run& run, WallTime now);
nlohmann::json nodes_json(const std::vector<model::NodeRecord>& nodes);
// `suspects`: ranks that keep the others waiting.
nlohmann::json figures_json(const Board& board, const std::vector<int>& suspects, WallTime now,
                            SteadyTime steady);
// All of it.
std::string picture_text(std::string_view job, std::string_view nodes, std::string_view figures);

}  // namespace toprun::snapshot
