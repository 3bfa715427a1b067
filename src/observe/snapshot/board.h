#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "base/text/clock.h"
#include "machine/meter/usage.h"
#include "run/model/exit.h"

namespace toprun::snapshot {

enum class RankState : char {
  waits = 'n',  // the rank has not started yet
  runs = 'r',
  done = 'd',  // the rank ended with exit code 0
  failed = 'f',
  stopped = 'k',  // toprun stopped the rank after another rank failed, or the signal that ends the
                  // job stopped it
  lost = 'l',     // the rank was lost together with its node
  // Only states_of() returns the following states, and only while the job hangs:
  suspect = 'h',  // the other ranks wait for this rank
  blocked = 'w',  // the rank is in a call that waits for other ranks
};

struct RankFigures {
  RankState state = RankState::waits;
  meter::Rank usage = {};  // for a rank that has ended: only its last output lines
  int code = 0;            // for a failed rank: its exit code, or 128 plus its signal
};

struct NodeFigures {
  std::optional<SteadyTime> at = {};  // when `usage` arrived; unset: never
  meter::Host usage = {};
};

// The ranks of one agent, which are on one node.
struct Part {
  std::size_t node = 0;  // by group rank
  std::size_t first_rank = 0;
  std::size_t ranks = 0;
};

// The state and resource use of each rank in the current attempt, as reported to the root. Performs
// no I/O.
class Board {
 public:
  void begin(std::size_t nodes, std::size_t ranks);
  void started(const Part& part);
  void ended(const model::WorkerExit& exit);
  // A signal ends the job. A rank that this signal killed counts as stopped, not as failed, even if
  // the rank ended before this call.
  void ordered_to_end(int signal);
  void lost(const Part& part);
  void measured(const Part& part, const meter::Node& usage, SteadyTime now);

  const std::vector<NodeFigures>& nodes() const { return nodes_; }
  const std::vector<RankFigures>& ranks() const { return ranks_; }

 private:
  std::span<RankFigures> ranks_of(const Part& part);
  void judge(RankFigures& rank) const;

  std::vector<NodeFigures> nodes_;
  std::vector<RankFigures> ranks_;
  std::optional<int> ending_signal_;
};

// The ranks in a hang that has not ended.
struct Hanging {
  std::vector<int> suspects;
  std::vector<int> blocked;  // in calls that wait for other ranks
};
// Returns each rank's state; running ranks in the hang are `suspect` or `blocked`.
std::vector<RankState> states_of(const Board& board, const Hanging& hanging);

// Returns the step number in a line of training output: "step 230 loss 0.004", "iter: 7/1000",
// "global_step=12", or a progress bar's "230/1000 [00:41<…". nullopt: no step number.
std::optional<std::uint64_t> step_in(std::string_view line);

}  // namespace toprun::snapshot
