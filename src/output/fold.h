#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/clock.h"

namespace toprun::output {

// Ranks as people write them: "0-3,7". Sorts them.
std::string rank_set(std::vector<int> ranks);

// Shows once what several ranks print alike: "[ranks 0-3,7] text", and "[rank 5] text" for what one
// alone says. A line waits until every rank has said it or gone past it, at most `window`. Lines of
// one rank stay in order, none is lost; those of different ranks come out in the order in which
// they were first said. So what a rank says after a line of its own that the others were ahead of
// is not folded with theirs. Time is passed in.
class Fold {
 public:
  static constexpr std::chrono::milliseconds window{100};
  // Above it the oldest lines are shown with the ranks that they have.
  static constexpr std::size_t most_held_bytes = 1u << 20;

  explicit Fold(bool colours = false) : colours_(colours) {}

  // A rank whose lines may come; each once, before its first line.
  void join(int rank);
  // None will come any more: nothing waits for it. Once all have left, take() gives what is held.
  void leave(int rank);

  // Takes one line or several whole ones. A line that does not end is shown as one that does.
  void add(int rank, std::string_view lines, SteadyTime now);
  // What is to be shown now, empty if nothing is.
  std::string take(SteadyTime now);
  // When take() has something at the latest; nullopt while nothing is held.
  std::optional<SteadyTime> due() const;

 private:
  struct Group {
    std::string text;  // with its end
    std::vector<int> ranks;
    SteadyTime since;
  };

  void add_line(int rank, std::string_view line, SteadyTime now);
  std::uint64_t first_number() const { return next_number_ - groups_.size(); }
  void move(int rank, std::uint64_t position);
  bool everyone_is_past_the_first() const;
  void show_first(std::string& out);
  std::string label(const std::vector<int>& ranks) const;

  bool colours_;                   // of the labels
  std::deque<Group> groups_;       // numbered on and on, the oldest is first_number()
  std::uint64_t next_number_ = 0;  // of the next group
  std::size_t held_bytes_ = 0;
  // Numbers of the held groups with one text, oldest first; the keys lie in the groups.
  std::unordered_map<std::string_view, std::deque<std::uint64_t>> by_text_;
  // Past the last group that each rank has joined: its next line belongs there or behind.
  std::map<int, std::uint64_t> positions_;
  std::multiset<std::uint64_t> sorted_positions_;
};

}  // namespace toprun::output
