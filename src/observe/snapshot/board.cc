#include "observe/snapshot/board.h"

#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <utility>

#include "base/text/shown_line.h"
#include "base/text/text.h"

namespace toprun::snapshot {
namespace {

constexpr std::array<std::string_view, 4> names = {"global_step", "step", "iteration", "iter"};
constexpr std::size_t most_digits = 18;
constexpr std::string_view digits = "0123456789";

bool is_of_a_word(char c) {
  return (c >= 'a' && c <= 'z') || c == '_' || digits.contains(c);
}

// The number at the start, 0.5 or 12a being none.
std::optional<std::uint64_t> number_at(std::string_view text) {
  const std::size_t end = std::min(text.find_first_not_of(digits), text.size());
  if (end == 0 || end > most_digits) return std::nullopt;
  const std::string_view rest = text.substr(end);
  const bool has_fraction = rest.size() > 1 && rest[0] == '.' && digits.contains(rest[1]);
  if (has_fraction || (!rest.empty() && is_of_a_word(rest[0]))) return std::nullopt;
  return static_cast<std::uint64_t>(*parse_int(text.substr(0, end)));
}

std::optional<std::uint64_t> step_named(std::string_view text, std::string_view name) {
  for (std::size_t at = text.find(name); at != std::string_view::npos;
       at = text.find(name, at + 1)) {
    if (at > 0 && is_of_a_word(text[at - 1])) continue;
    const std::string_view rest = text.substr(at + name.size());
    const std::size_t between = rest.find_first_not_of(" \t:=#[(");
    if (between == 0 || between == std::string_view::npos) continue;
    if (const auto number = number_at(rest.substr(between))) return number;
  }
  return std::nullopt;
}

// "41:", "1:02:"
bool begins_with_a_time(std::string_view text) {
  const std::size_t end = text.find_first_not_of(digits);
  return end > 0 && end != std::string_view::npos && text[end] == ':';
}

// "230/1000 [00:41": as tqdm and others draw it.
std::optional<std::uint64_t> step_of_a_bar(std::string_view text) {
  const std::size_t bracket = text.find(" [");
  const std::size_t slash = text.substr(0, bracket).rfind('/');
  if (bracket == std::string_view::npos || slash == std::string_view::npos) return std::nullopt;
  if (!begins_with_a_time(text.substr(bracket + 2))) return std::nullopt;
  if (!number_at(text.substr(slash + 1, bracket - slash - 1))) return std::nullopt;
  const std::size_t before = text.substr(0, slash).find_last_not_of(digits);
  return number_at(text.substr(before + 1, slash - before - 1));
}

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

}  // namespace

std::optional<std::uint64_t> step_in(std::string_view line) {
  const std::string text = lower(line);
  for (const std::string_view name : names) {
    if (const auto step = step_named(text, name)) return step;
  }
  return step_of_a_bar(text);
}

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
  // What was measured while it ran may lack its last words.
  const auto lines = last_public_lines(join(exit.last_output, "\n"), meter::most_last_lines,
                                       meter::longest_last_line);
  if (!lines.empty()) rank.usage.last_lines.assign(lines.begin(), lines.end());
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
