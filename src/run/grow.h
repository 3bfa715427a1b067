#pragma once

#include <signal.h>

namespace toprun::run {

// When an elastic job admits a node that joins during the run (--grow): at the next restart for
// another reason, at once, or at the user's request. All ranks then restart.
enum class Grow { at_restart, now, on_signal };

// The user's request to grow, sent to any agent of the job. A process that does not handle it
// survives it, so it may be sent to a whole job step.
inline constexpr int grow_signal = SIGURG;

}  // namespace toprun::run
