#pragma once

#include <cstddef>
#include <optional>
#include <string_view>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "base/text/clock.h"
#include "base/text/error.h"
#include "base/text/outside.h"
#include "observe/snapshot/board.h"
#include "observe/snapshot/snapshot.h"
#include "run/model/record.h"

namespace toprun::snapshot {

// The state of a job, read from the JSON that the job sends. Missing or unknown values are unset.
struct Picture {
  struct Node {
    Outside name, location, logs;
    std::size_t first_rank = 0, ranks = 0;
    std::optional<double> age_s;  // age of the node's figures
    std::optional<double> busy_cpus, received_mb_per_s, sent_mb_per_s;
    std::optional<int> cpus;
    std::optional<double> memory_mib, memory_total_mib;
  };
  // Where a group of ranks was in its code when the hang was detected.
  struct Place {
    std::string ranks;           // "0-2,4"
    Outside text;                // "sleeps at hang.py:5 in load_batch"
    std::vector<Outside> stack;  // "load_batch, /job/hang.py:5", innermost first
  };
  struct Rank {
    RankState state = RankState::waits;
    std::optional<double> busy_cpus, memory_mib, silence_s, gpu_percent, gpu_memory_mib;
    Outside line;                     // the rank's last output line; empty: the rank has no output
    int pid = 0;                      // 0: the rank has ended, or its process id is unknown
    std::vector<Outside> lines = {};  // the rank's last output lines, newest last; empty: the rank
                                      // has no output, or the lines were not sent
    std::optional<int> code = {};     // of a rank that has ended: its exit code, or 128 plus its
                                      // signal
  };

  // The run's record, without data about nodes and networks. Only the last attempt has phases. The
  // last attempt has a hang only until the ranks go on.
  model::RunRecord run;
  Outside id, stage;
  Outside node_log;  // the folder of --node-log; empty: the option is not given
  std::optional<WallTime> now;
  std::optional<WallTime> limit;  // when the engine will end the job
  int least_nodes = 1, most_nodes = 1;
  int joined = 0;
  // The next three fields are set only while nodes join. They are the first nodes that have joined,
  // when the job begins without more nodes, and when the run ends if too few have joined.
  std::vector<Outside> here;
  std::optional<WallTime> begins_at, waits_until;
  std::vector<Outside> missing;  // the names of the first missing nodes
  std::size_t missing_count = 0;
  std::vector<Place> hang_places;  // of the last attempt's hang, at most most_pictured_places
  bool hang_is_past = false;       // the last attempt ended in its hang, or has none
  // In words: which user cancelled the job, and when. Empty: no cancellation is known. The job's
  // JSON does not contain this text.
  Outside cancelled;
  std::vector<Message> messages;
  double interval_s = 1;
  std::vector<Node> nodes;  // by group rank
  std::vector<Rank> ranks;
};

inline constexpr std::size_t most_pictured_nodes = 262'144;
inline constexpr std::size_t most_pictured_ranks = 1u << 22;
inline constexpr std::size_t most_pictured_places = 64;
inline constexpr std::size_t most_pictured_frames = 12;

// Returns where a rank was when the hang was detected. nullptr: the rank is in no hang, or its
// place is unknown.
const Picture::Place* place_of(const Picture& picture, std::size_t rank);

// Returns the rank in [first, end) with the newest output, among ranks with a known last line.
// nullopt: there is no such rank.
std::optional<std::size_t> newest_to_speak(const Picture& picture, std::size_t first,
                                           std::size_t end);

// Reads schema toprun.live/1. Error: another schema, or inconsistent or too many ranks.
Result<Picture> picture_in(const nlohmann::json& object);

// Returns the last state of a run that has ended, from the record in its --report file: which ranks
// failed and which were lost. All other ranks of a failed attempt count as stopped, even those that
// hung.
Picture last_picture(const model::RunRecord& run, std::string_view id);

}  // namespace toprun::snapshot
