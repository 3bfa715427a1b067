#pragma once

#include <string_view>

#include "base/error.h"

namespace toprun::cli {

// Data to stdout. Returns the exit code: 0, or 1 after saying why it could not be written.
int print(std::string_view text);

// Says on stderr, in one line, why the command ends here; returns its exit code.
int give_up(const Error& error);

}  // namespace toprun::cli
