#pragma once

#include <span>
#include <string>
#include <string_view>

#include "options/flags.h"

namespace toprun::options {

// What a command's exit code means. One table, from which the help, the manual page and the tables
// of README.md and docs/running.md are made or checked.
struct ExitCode {
  std::string code;  // "75", "128+N"
  std::string_view meaning;
};

std::span<const ExitCode> exit_codes(Command command);

}  // namespace toprun::options
