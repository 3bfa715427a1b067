#pragma once

#include <string_view>

#include "base/text/error.h"

namespace toprun {

// Prints text for people to stdout, without terminal sequences (printable_lines() in
// base/text/utf8.h). Returns the exit code: 0, 141 (128 + SIGPIPE) if the reader has closed the
// pipe, or 1 on another error, after a line on stderr with the reason.
int print(std::string_view text);

// Like print(), but prints the bytes unchanged. For output that programs read, and for the output
// of ranks.
int print_bytes(std::string_view bytes);

// Prints the error as one line on stderr and returns its exit code.
int give_up(const Error& error);

}  // namespace toprun
