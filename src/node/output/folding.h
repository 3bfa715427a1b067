#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include <boost/asio/io_context.hpp>

#include "base/os/timer.h"
#include "base/text/clock.h"
#include "node/output/console.h"

namespace toprun::output {

// Folds the lines of several ranks: shows a line that several ranks print only once, such as
// "[ranks 0-3,7] text". A line from one rank is "[rank 5] text". A line waits until every rank has
// printed this line or a later line, for at most `window`. Lines of one rank stay in order, and no
// line is lost. Lines of different ranks appear in the order in which they were first printed. So
// if a rank has printed a line of its own, its later lines are not folded with lines that other
// ranks printed before that line. The caller passes the time.
class Fold {
 public:
  static constexpr std::chrono::milliseconds window{100};
  // The limit on the bytes of waiting lines. Above it, the oldest lines are shown, with the ranks
  // that have printed them so far.
  static constexpr std::size_t most_held_bytes = 1u << 20;

  explicit Fold(bool colours = false) : colours_(colours) {}

  // Adds a rank. Call join() once per rank, before the rank's first line.
  void join(int rank);
  // Ends a rank's output: lines no longer wait for this rank. Once leave() was called for all
  // ranks, take() returns all lines that still wait.
  void leave(int rank);

  // Adds one or several complete lines. A missing line end is added.
  void add(int rank, std::string_view lines, SteadyTime now);
  // Returns the text to show now; may be empty.
  std::string take(SteadyTime now);
  // Returns the latest time at which take() will have text; nullopt while no line waits.
  std::optional<SteadyTime> due() const;

 private:
  struct Group {
    std::string text;  // includes the line end
    std::vector<int> ranks;
    SteadyTime since;
  };

  void add_line(int rank, std::string_view line, SteadyTime now);
  std::uint64_t first_number() const { return next_number_ - groups_.size(); }
  void move(int rank, std::uint64_t position);
  bool everyone_is_past_the_first() const;
  void show_first(std::string& out);
  std::string label(std::vector<int> ranks) const;

  bool colours_;                   // colours for the labels
  std::deque<Group> groups_;       // numbered consecutively; first_number() is the oldest
  std::uint64_t next_number_ = 0;  // the next group's number
  std::size_t held_bytes_ = 0;
  // For each text, the numbers of the groups that wait to be shown, oldest first. A group is a line
  // that several ranks have printed. The keys point into the groups' texts.
  std::unordered_map<std::string_view, std::deque<std::uint64_t>> by_text_;
  // For each rank, the number after the last group that the rank has joined. The rank's next line
  // belongs to the group with this number or to a later group.
  std::map<int, std::uint64_t> positions_;
  std::multiset<std::uint64_t> sorted_positions_;
};

// Shows the folded lines of several ranks on a console. stdout and stderr are folded separately.
// A timer shows the lines that have waited long enough.
class Folding {
 public:
  Folding(boost::asio::io_context& io, std::shared_ptr<Console> console);

  // Adds a rank's stream. Call join() once per stream, before the stream's first line.
  void join(bool is_err, int rank) { fold(is_err).join(rank); }
  void leave(bool is_err, int rank);
  void add(bool is_err, int rank, std::string_view lines);

 private:
  Fold& fold(bool is_err) { return is_err ? err_ : out_; }
  void show(bool is_err);
  void run_timer();

  std::shared_ptr<Console> console_;
  Fold out_;
  Fold err_;
  Timer timer_;
  bool timer_runs_ = false;
  std::shared_ptr<Folding*> self_;  // lets a timer handler check whether this object still exists
};

}  // namespace toprun::output
