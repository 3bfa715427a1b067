#pragma once

#include <chrono>
#include <optional>
#include <utility>

#include "base/text/clock.h"

namespace toprun::process {

// Signals that reach an agent within impatient_after count as one request to end the job. One
// request often causes two signals within milliseconds. For example, `timeout`, pkill and systemd
// signal both the agent and the keeper, its parent process. When a terminal closes, the kernel
// sends SIGHUP in addition to the shell's SIGHUP. A user who sees that the job continues and sends
// a second request needs more time than impatient_after.
inline constexpr std::chrono::milliseconds impatient_after{1'000};

// Classifies the signals that tell an agent to end the job: the first signal, further deliveries of
// the same request, and impatient repeats. Pure. All code in an agent passes the signals that end
// the job to one Impatience object, regardless of signal number and sender (keeper, launcher or
// another process). So signals are classified only by their time of arrival.
class Impatience {
 public:
  enum class Signal {
    first,     // end in order, with the full grace period
    delivery,  // another delivery of an earlier signal: no effect
    repeat,    // the user has waited and asks again: end at once
  };

  Signal arrived(SteadyTime now) {
    if (counted_ && now - *counted_ < impatient_after) return Signal::delivery;
    return std::exchange(counted_, now) ? Signal::repeat : Signal::first;
  }
  // Whether the agent has to act on the signal. False: another delivery of the same request.
  bool is_wish(SteadyTime now) { return arrived(now) != Signal::delivery; }

 private:
  std::optional<SteadyTime> counted_;  // the latest signal that was not another delivery
};

}  // namespace toprun::process
