#pragma once

#include <chrono>
#include <optional>
#include <utility>

#include "base/text/clock.h"

namespace toprun::process {

// One wish to end a job often arrives twice at an agent, within milliseconds: `timeout`, pkill and
// systemd signal its keeper and itself, a closed terminal sends SIGHUP beside the shell's. A user
// who sees that a job goes on and asks again takes longer than this.
inline constexpr std::chrono::milliseconds impatient_after{1'000};

// Tells one agent's signals to end apart: the first, its further deliveries, and impatience. Pure.
// The one rule of all agents: whatever receives signals feeds one of these, whichever way a signal
// came (directly, from the keeper, from a launcher) and whatever its number, so that it is judged
// by the time at which it arrived.
class Impatience {
 public:
  enum class Signal {
    first,     // end in order, with the whole grace
    delivery,  // another delivery of a signal that counted: it changes nothing
    repeat,    // its user has waited: end at once
  };

  Signal arrived(SteadyTime now) {
    if (counted_ && now - *counted_ < impatient_after) return Signal::delivery;
    return std::exchange(counted_, now) ? Signal::repeat : Signal::first;
  }
  // The first, or a repeat.
  bool is_wish(SteadyTime now) { return arrived(now) != Signal::delivery; }

 private:
  std::optional<SteadyTime> counted_;  // the latest that was not merely another delivery
};

}  // namespace toprun::process
