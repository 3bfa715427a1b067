#pragma once

#include <string>

namespace toprun::process {

// The linker's digest of this program (the ELF note NT_GNU_BUILD_ID, requested in Flags.cmake) as
// 40 hex digits. The digest is unique to this build and cheap to read. Empty if the note was
// stripped.
std::string build_id();

}  // namespace toprun::process
