#include "observe/snapshot/board.h"

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>

#include "base/text/shown_line.h"
#include "base/text/text.h"

namespace toprun::snapshot {
namespace {

RankState state_after(const model::WorkerExit& exit) {
  if (!exit.failed()) return RankState::done;
  return exit.ours ? RankState::stopped : RankState::failed;
}

void end(RankFigures& rank, RankState state) {
  meter::Rank said;
  said.last_line = std::move(rank.usage.last_line);
  said.last_lines = std::move(rank.usage.last_lines);
  rank = {state, std::move(said)};
}

// The error itself, if it has told of one. Empty: it has not failed.
std::string last_line_of(const model::WorkerExit& exit) {
  const std::string_view exception = exit.exception;
  return last_state(
      exception.empty() ? join(exit.last_output, "\n") : std::string(first_line(exception)),
      meter::longest_last_line);
}

// What it printed last, if nothing was measured while it ran.
std::vector<Outside> last_lines_of(const model::WorkerExit& exit) {
  std::vector<Outside> lines;
  const std::size_t all = exit.last_output.size();
  for (std::size_t i = all - std::min(all, meter::most_last_lines); i < all; ++i) {
    lines.emplace_back(last_state(exit.last_output[i], meter::longest_last_line));
  }
  return lines;
}

}  // namespace

void Board::begin(std::size_t nodes, std::size_t ranks) {
  nodes_.assign(nodes, {});
  ranks_.assign(ranks, {});
  ending_signal_.reset();
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

void Board::ended(const model::WorkerExit& exit) {
  if (exit.rank < 0 || static_cast<std::size_t>(exit.rank) >= ranks_.size()) return;
  RankFigures& rank = ranks_[static_cast<std::size_t>(exit.rank)];
  end(rank, state_after(exit));
  rank.code = exit.code();
  judge(rank);
  if (std::string line = last_line_of(exit); !line.empty()) {
    rank.usage.last_line = std::move(line);
  }
  if (rank.usage.last_lines.empty()) rank.usage.last_lines = last_lines_of(exit);
}

void Board::ordered_to_end(int signal) {
  if (ending_signal_ == signal) return;
  ending_signal_ = signal;
  for (RankFigures& rank : ranks_) judge(rank);
}

void Board::judge(RankFigures& rank) const {
  const bool by_signal = ending_signal_ && rank.code == 128 + *ending_signal_;
  if (rank.state == RankState::failed && by_signal) rank.state = RankState::stopped;
}

std::vector<RankState> states_of(const Board& board, const Hanging& hanging) {
  std::vector<RankState> states;
  for (const RankFigures& rank : board.ranks()) states.push_back(rank.state);
  const auto mark = [&](const std::vector<int>& ranks, RankState state) {
    for (const int rank : ranks) {
      const auto at = static_cast<std::size_t>(rank);
      if (at < states.size() && states[at] == RankState::runs) states[at] = state;
    }
  };
  mark(hanging.suspects, RankState::suspect);
  mark(hanging.blocked, RankState::blocked);
  return states;
}

void Board::lost(const Part& part) {
  for (RankFigures& rank : ranks_of(part)) {
    const bool has_ended = rank.state != RankState::waits && rank.state != RankState::runs;
    if (!has_ended) end(rank, RankState::lost);
  }
}

void Board::measured(const Part& part, const meter::Node& usage, SteadyTime now) {
  if (part.node < nodes_.size()) nodes_[part.node] = {now, usage.host};
  const std::span<RankFigures> ranks = ranks_of(part);
  for (std::size_t i = 0; i < std::min(ranks.size(), usage.ranks.size()); ++i) {
    if (ranks[i].state == RankState::runs) ranks[i].usage = usage.ranks[i];
  }
}

}  // namespace toprun::snapshot
