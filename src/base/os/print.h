#pragma once

#include <string_view>

#include "base/text/error.h"

namespace toprun {

// Prints text for people to stdout, made harmless to a terminal (printable_lines() of
// base/text/utf8.h). Returns the exit code: 0, 141 (128 + SIGPIPE) if its reader has gone, or 1
// after a line on stderr about why it could not be written.
int print(std::string_view text);

// As print(), byte for byte: for programs, and for the output of ranks.
int print_bytes(std::string_view bytes);

// Prints the error on stderr in one line and returns its exit code.
int give_up(const Error& error);

}  // namespace toprun
