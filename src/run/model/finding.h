#pragma once

#include <string_view>

#include "run/model/exit.h"

namespace toprun::model {

// The word by which toprun starts itself as a rank's program, as `toprun bench` does.
inline constexpr std::string_view own_program = "/proc/self/exe";

// A rank of toprun's own ends with it if it did its work and found something, such as a slow node.
inline constexpr int exit_found = 3;

// Whether the exit is such a result and not a failure. Of a user's program the same code means
// whatever that program says.
inline bool is_finding(const WorkerExit& exit) {
  return exit.program == own_program && exit.signal == 0 && exit.exit_code == exit_found;
}

}  // namespace toprun::model
