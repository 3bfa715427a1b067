#pragma once

#include <array>
#include <cstddef>
#include <utility>

#include "base/process/impatience.h"
#include "base/text/clock.h"

namespace toprun::agent {

// Which of an agent's signals to end count: the first, and those that show impatience. Each way has
// a patience of its own, because a busy machine may hold up the keeper, or the launcher's line, for
// longer than two deliveries of one signal are ever apart: then the copy is late, not impatient.
// Pure.
class EndSignals {
 public:
  enum class Way { itself, keeper, launcher };  // to this process, or passed on by another

  // False: a further delivery of one that counted.
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
