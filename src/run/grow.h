#pragma once

#include <signal.h>

namespace toprun::run {

// When a node that comes to an elastic job while it runs is taken in (--grow): at the next restart
// for another reason, at once, or when the user asks for it. All ranks start again then.
enum class Grow { at_restart, now, on_signal };

// To any agent of the job: the user asks. A process that does not handle it lives on, so that it
// may be sent to a whole job step.
inline constexpr int grow_signal = SIGURG;

}  // namespace toprun::run
