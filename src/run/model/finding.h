#pragma once

#include <string_view>

#include "base/process/program.h"
#include "base/text/error.h"
#include "run/model/exit.h"

namespace toprun::model {

// The program name with which toprun starts itself as a rank, as `toprun bench` does.
inline constexpr std::string_view own_program = process::own_program;

// The exit code of a toprun rank that did its work and found something, such as a slow node.
inline constexpr int exit_found = 3;

// Whether the exit is such a result, or the refusal of an impossible request, and not a failure.
// The rank has printed what it found. If a user's program exits with the same code, this is not a
// finding.
inline bool is_finding(const WorkerExit& exit) {
  return exit.program == own_program && exit.signal == 0 &&
         (exit.exit_code == exit_found || exit.exit_code == exit_usage);
}

}  // namespace toprun::model
