#pragma once

#include <functional>
#include <optional>
#include <utility>
#include <vector>

#include "rendezvous/link.h"
#include "simulation/process.h"
#include "simulation/timeline.h"

namespace toprun::simulation {

// A connection between the root and an agent in virtual time: each direction keeps its order, may
// be slow, and may be cut off for a while; messages then wait, as in TCP. Who hears nothing for
// `silence` gives the other end up.
class Link {
 public:
  static constexpr milliseconds silence{10'000};

  struct End {
    Process& process;
    std::function<void(std::optional<rendezvous::Loss>)> over;  // once; no loss: in good order
  };
  enum Direction { to_root, to_node };

  Link(Timeline& timeline, Dice dice, milliseconds slowest, End root, End node)
      : timeline_(timeline),
        dice_(dice),
        slowest_(slowest),
        ways_{{std::move(root)}, {std::move(node)}} {}

  template <class What>
  void send(Direction direction, What arrives) {
    timeline_.at(arrival(direction), [this, direction, arrives = std::move(arrives)]() mutable {
      if (is_muted(direction)) {
        ways_[direction].held.emplace_back(std::move(arrives));
      } else {
        deliver(direction, std::move(arrives));
      }
    });
  }
  // After what was sent: the other end closes as well.
  void close(Direction direction);
  // The process at the beginning of `direction` has ended: the other end reads that.
  void break_off(Direction direction);
  // … or its host: the other end hears nothing any more.
  void fall_silent(Direction direction);
  void cut(Direction direction);
  void mend(Direction direction);
  bool is_over(Direction at_the_end_of) const { return ways_[at_the_end_of].over; }

 private:
  struct Way {
    End end;
    int muted = 0;      // counts; odd: nothing passes
    bool over = false;  // its end takes nothing any more
    SteadyTime last{};
    std::vector<Do> held{};
  };

  SteadyTime arrival(Direction direction);
  bool is_muted(Direction direction) const { return ways_[direction].muted % 2 == 1; }
  template <class What>
  void deliver(Direction direction, What arrives) {
    Way& way = ways_[direction];
    if (way.over) return;
    if (!way.end.process.is_stopped()) return way.end.process.deliver(std::move(arrives));
    way.end.process.deliver([&way, arrives = std::move(arrives)]() mutable {
      if (!way.over) arrives();
    });
  }
  void mute(Direction direction);
  void end(Direction at_the_end_of, std::optional<rendezvous::Loss> loss);

  Timeline& timeline_;
  Dice dice_;
  milliseconds slowest_;
  Way ways_[2];
};

}  // namespace toprun::simulation
