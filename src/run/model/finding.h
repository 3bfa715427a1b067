#pragma once

#include <string_view>

#include "run/model/exit.h"

namespace toprun::model {

// The program name with which toprun starts itself as a rank, as `toprun bench` does.
inline constexpr std::string_view own_program = "/proc/self/exe";

// The exit code of a toprun rank that did its work and found something, such as a slow node.
inline constexpr int exit_found = 3;

// Whether the exit reports a finding instead of a failure. In a user's program the same code has
// the meaning that the program defines.
inline bool is_finding(const WorkerExit& exit) {
  return exit.program == own_program && exit.signal == 0 && exit.exit_code == exit_found;
}

}  // namespace toprun::model
