#pragma once

#include <string_view>

#include "base/error.h"

namespace toprun {

// Text for people to stdout, made harmless to a terminal (printable_lines() of base/utf8.h).
// Returns the exit code: 0, or 1 after saying why it could not be written.
int print(std::string_view text);

// What programs read, and what ranks have printed, byte for byte.
int print_bytes(std::string_view bytes);

// Says on stderr, in one line, why the command ends here; returns its exit code.
int give_up(const Error& error);

}  // namespace toprun
