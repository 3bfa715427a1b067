#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "rendezvous/link.h"
#include "simulation/timeline.h"

namespace toprun::simulation {

// A connection between the root and an agent in virtual time: each direction keeps its order, may
// be slow, and may be cut off for a while; messages then wait, as in TCP. Who hears nothing for
// `silence` gives the other end up.
class Link : public std::enable_shared_from_this<Link> {
 public:
  static constexpr milliseconds silence{10'000};

  struct End {
    std::function<void(std::function<void()>)> deliver;  // runs it in that process, when that runs
    std::function<void(std::optional<rendezvous::Loss>)> over;  // once; no loss: in good order
  };
  enum Direction { to_root, to_node };

  Link(Timeline& timeline, Dice dice, milliseconds slowest, End root, End node)
      : timeline_(timeline), dice_(dice), slowest_(slowest), ends_{root, node} {}

  void send(Direction direction, std::function<void()> arrives);
  // After what was sent: the other end closes as well.
  void close(Direction direction);
  // The process at the beginning of `direction` has ended: the other end reads that.
  void break_off(Direction direction);
  // … or its host: the other end hears nothing any more.
  void fall_silent(Direction direction);
  void cut(Direction direction);
  void mend(Direction direction);
  void drop() {
    for (auto& held : held_) held.clear();
  }
  bool is_over(Direction at_the_end_of) const { return over_[at_the_end_of]; }

 private:
  void hurry(Direction direction);
  void mute(Direction direction);
  void end(Direction at_the_end_of, std::optional<rendezvous::Loss> loss);

  Timeline& timeline_;
  Dice dice_;
  milliseconds slowest_;
  End ends_[2];  // where the direction ends
  std::deque<std::function<void()>> held_[2];
  SteadyTime last_[2] = {};
  int muted_[2] = {};  // counts; odd: nothing passes
  bool over_[2] = {};
};

}  // namespace toprun::simulation
