#pragma once

#include <deque>
#include <functional>
#include <optional>
#include <utility>
#include <vector>

#include "run/model/messages.h"
#include "run/simulation/scenario.h"

namespace toprun::simulation {

using Do = std::move_only_function<void()>;

// A process that may be stopped for a while (SIGSTOP). Events for a stopped process are delayed.
class Process {
 public:
  template <class What>
  void deliver(What&& what) {
    if (!alive_) return;
    if (!stopped_) return std::forward<What>(what)();
    waiting_.emplace_back(std::forward<What>(what));
  }
  void stop() { stopped_ = true; }
  void go_on();
  void die() { alive_ = false; }
  bool is_alive() const { return alive_; }
  bool is_stopped() const { return stopped_; }

 private:
  bool alive_ = true;
  bool stopped_ = false;
  std::deque<Do> waiting_;
};

// A connection between the root and an agent in virtual time. Each direction delivers messages in
// order, may be slow, and may be cut off for a while. A cut delays the messages, as in TCP. An end
// that receives nothing for `silence` closes the connection.
class Link {
 public:
  static constexpr milliseconds silence{10'000};

  struct End {
    Process& process;
    std::function<void(std::optional<model::Loss>)> over;  // called once; nullopt: closed normally
  };
  enum Direction { to_root, to_node };

  Link(Timeline& timeline, Dice dice, milliseconds slowest, End root, End node)
      : timeline_(timeline),
        dice_(dice),
        slowest_(slowest),
        paths_{{std::move(root)}, {std::move(node)}} {}

  template <class What>
  void send(Direction direction, What&& what) {
    timeline_.at(arrival(direction),
                 [this, direction, arrives = std::forward<What>(what)]() mutable {
                   if (is_muted(direction)) {
                     paths_[direction].held.emplace_back(std::move(arrives));
                   } else {
                     deliver(direction, std::move(arrives));
                   }
                 });
  }
  // Closes this end after the queued messages. The other end of the link then closes as well.
  void close(Direction direction);
  // The process at the sending end of `direction` has ended. The receiving end sees the connection
  // close.
  void break_off(Direction direction);
  // The host at the sending end of `direction` has failed. The receiving end gets nothing more.
  void fall_silent(Direction direction);
  void cut(Direction direction);
  void repair(Direction direction);
  bool is_over(Direction at_the_end_of) const { return paths_[at_the_end_of].over; }

 private:
  struct Path {
    End end;
    int muted = 0;      // incremented when the link is cut off and when it is repaired; odd: no
                        // messages are delivered
    bool over = false;  // the receiver accepts no more messages
    SteadyTime last{};
    std::vector<Do> held{};
  };

  SteadyTime arrival(Direction direction);
  bool is_muted(Direction direction) const { return paths_[direction].muted % 2 == 1; }
  template <class What>
  void deliver(Direction direction, What&& arrives) {
    Path& path = paths_[direction];
    if (path.over) return;
    if (!path.end.process.is_stopped())
      return path.end.process.deliver(std::forward<What>(arrives));
    path.end.process.deliver([&path, arrives = std::forward<What>(arrives)]() mutable {
      if (!path.over) arrives();
    });
  }
  void mute(Direction direction);
  void end(Direction at_the_end_of, std::optional<model::Loss> loss);

  Timeline& timeline_;
  Dice dice_;
  milliseconds slowest_;
  Path paths_[2];
};

}  // namespace toprun::simulation
