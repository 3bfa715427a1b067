#pragma once

#include <string>

namespace toprun::process {

// The linker's digest of this very program (ELF's note NT_GNU_BUILD_ID, which Flags.cmake asks
// for), as 40 hex digits: no other program has it, and it costs nothing to read. Empty: the note is
// gone.
std::string build_id();

}  // namespace toprun::process
