#include "watch/board.h"

#include <algorithm>

namespace toprun::watch {
namespace {

RankState state_after(const agent::WorkerExit& exit) {
  if (!exit.failed()) return RankState::done;
  return exit.ours ? RankState::stopped : RankState::failed;
}

}  // namespace

void Board::begin(std::size_t nodes, std::size_t ranks) {
  nodes_.assign(nodes, {});
  ranks_.assign(ranks, {});
}

std::span<RankFigures> Board::ranks_of(const Part& part) {
  const std::size_t first = std::min(part.first_rank, ranks_.size());
  return std::span(ranks_).subspan(first, std::min(part.ranks, ranks_.size() - first));
}

void Board::started(const Part& part) {
  for (RankFigures& rank : ranks_of(part)) {
    if (rank.state == RankState::waits) rank.state = RankState::runs;
  }
}

void Board::ended(const agent::WorkerExit& exit) {
  if (exit.rank < 0 || static_cast<std::size_t>(exit.rank) >= ranks_.size()) return;
  ranks_[static_cast<std::size_t>(exit.rank)] = {state_after(exit), {}};
}

void Board::lost(const Part& part) {
  for (RankFigures& rank : ranks_of(part)) {
    const bool has_ended = rank.state != RankState::waits && rank.state != RankState::runs;
    if (!has_ended) rank = {RankState::lost, {}};
  }
}

void Board::measured(const Part& part, const meter::Node& usage, SteadyTime now) {
  if (part.node < nodes_.size()) nodes_[part.node] = {now, usage.host};
  const std::span<RankFigures> ranks = ranks_of(part);
  for (std::size_t i = 0; i < std::min(ranks.size(), usage.ranks.size()); ++i) {
    if (ranks[i].state == RankState::runs) ranks[i].usage = usage.ranks[i];
  }
}

}  // namespace toprun::watch
