#pragma once

#include <chrono>
#include <cstddef>
#include <deque>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "base/text/clock.h"
#include "observe/snapshot/board.h"
#include "run/model/record.h"

// The state of a running job, in schema toprun.live/1 (docs/reference/live.md). The JSON has three
// parts, which change at different rates.
namespace toprun::snapshot {

struct Message {
  WallTime at{};
  std::string text;  // one or more lines, as shown to the user
};
inline constexpr std::size_t most_messages = 100;
inline constexpr std::size_t most_missing = 20;  // limit for the names in `missing` and in `here`

// The stage of a run that has ordered its ranks to end. In this stage, some of the ranks still run.
inline constexpr std::string_view stopping_stage = "stopping";

// The names of one stage of a run. The stages are those of run::Stage, and stopping_stage.
struct NamedStage {
  std::string_view name;   // in JSON and in metrics
  std::string_view words;  // for users: on the page, in `top` and in `status`
};
std::span<const NamedStage> stages_by_name();
// `name` itself if it is unknown.
std::string_view words_of_stage(std::string_view name);

// The run's state at its root.
struct Run {
  model::RunRecord record;
  std::string id;  // the job's id in the engine, or toprun's own id
  std::string stage;
  int least_nodes = 1;
  int most_nodes = 1;
  int max_restarts = 0;
  std::optional<WallTime> limit;          // when the engine will end the job; unset: unknown
  std::string node_log;                   // the folder of --node-log; empty: the option is not
                                          // given
  std::size_t joined = 0;                 // number of nodes that have joined
  std::vector<std::string> missing;       // awaited nodes, if the engine names them
  bool hangs = false;                     // the last attempt's hang continues
  std::deque<Message> messages;           // the latest messages
  std::chrono::milliseconds interval{0};  // time between two updates of the measurements
};

// Returns the name that the job's user chose, else the program's name without its folder; may be
// empty.
std::string short_name(const model::RunRecord& record);

// Returns the current attempt's nodes; empty before ranks are assigned.
const std::vector<model::NodeRecord>& nodes_of(const model::RunRecord& run);

nlohmann::json job_json(const Run& run, WallTime now);
nlohmann::json nodes_json(const std::vector<model::NodeRecord>& nodes);
nlohmann::json figures_json(const Board& board, const Hanging& hanging, WallTime now,
                            SteadyTime steady);
// Joins the three parts into the JSON of a job's state.
std::string picture_text(std::string_view job, std::string_view nodes, std::string_view figures);

}  // namespace toprun::snapshot
