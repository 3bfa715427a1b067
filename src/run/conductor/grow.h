#pragma once

#include <signal.h>

#include <array>
#include <cstddef>
#include <string_view>

namespace toprun::run {

// When an elastic job admits a node that joins during the run (--grow): at the next restart that
// has another cause, at once, or at the user's request. To admit a node, all ranks restart.
enum class Grow { at_restart, now, on_signal };
constexpr std::string_view name_of(Grow grow) {  // as in --grow
  constexpr std::array<std::string_view, 3> names = {"at-restart", "now", "on-signal"};
  return names[static_cast<std::size_t>(grow)];
}

// The user's request to grow, sent to any agent of the job. A process without a handler ignores
// this signal, so the signal may be sent to a whole job step.
inline constexpr int grow_signal = SIGURG;

}  // namespace toprun::run
