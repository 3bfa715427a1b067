#pragma once

#include <chrono>
#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "base/text/clock.h"
#include "machine/meter/usage.h"
#include "run/model/exit.h"

namespace toprun::snapshot {

enum class RankState : char {
  waits = 'n',  // it is not started yet
  runs = 'r',
  done = 'd',  // it ended with exit code 0
  failed = 'f',
  stopped = 'k',  // by toprun, after another failed, or by the signal that ends the job
  lost = 'l',     // with its node
  suspect = 'h',  // it keeps the others waiting
};

struct RankFigures {
  RankState state = RankState::waits;
  meter::Rank usage = {};  // of a rank that has ended its last lines alone
  int code = 0;            // of a rank that has failed: its exit code, or 128 and its signal
};

struct NodeFigures {
  std::optional<SteadyTime> at = {};  // when they came; unset: none have
  meter::Host usage = {};
};

// The part of one agent: some ranks of one node.
struct Part {
  std::size_t node = 0;  // by group rank
  std::size_t first_rank = 0;
  std::size_t ranks = 0;
};

// What each rank of the current attempt does and uses, as far as the root has heard; pure.
class Board {
 public:
  void begin(std::size_t nodes, std::size_t ranks);
  void started(const Part& part);
  void ended(const model::WorkerExit& exit);
  // A signal ends the job: ranks that it ended were stopped, whether they have ended yet or not.
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

}  // namespace toprun::snapshot
