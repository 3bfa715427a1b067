#pragma once

#include <span>
#include <string>
#include <string_view>

#include "cli/options/flags.h"

namespace toprun::cli {

// The meaning of a command's exit codes. Help and manual page use this table. Tests compare
// docs/reference/exit-codes.md with it.
struct ExitCode {
  std::string code;  // "75", "128+N"
  std::string_view meaning;
};

std::span<const ExitCode> exit_codes(options::Command command);

}  // namespace toprun::cli
