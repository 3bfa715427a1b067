#pragma once

#include <array>
#include <cstddef>
#include <utility>

#include "base/process/impatience.h"
#include "base/text/clock.h"

namespace toprun::agent {

// Decides which of the termination signals to an agent count. The first signal counts, and so do
// repeated signals from an impatient user. Signals can reach an agent in three ways (Way), and each
// way has its own time limit for repeats. So if the keeper or the launcher delivers a copy of a
// signal late, as on a busy machine, the copy does not count as a repeat. Pure.
class EndSignals {
 public:
  // The way of a signal: it was sent to this process, or the keeper or the launcher forwarded it.
  enum class Way { itself, keeper, launcher };

  // False: this is another delivery of a signal that has counted already.
  bool count(Way way, SteadyTime now) {
    const auto here = ways_[static_cast<std::size_t>(way)].arrived(now);
    const bool any_came = std::exchange(any_came_, true);
    return !any_came || here == process::Impatience::Signal::repeat;
  }

 private:
  std::array<process::Impatience, 3> ways_;
  bool any_came_ = false;
};

}  // namespace toprun::agent
