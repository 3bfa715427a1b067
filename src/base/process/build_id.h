#pragma once

#include <string>
#include <string_view>

namespace toprun::process {

// The linker's digest of this program (the ELF note NT_GNU_BUILD_ID, requested in Flags.cmake) as
// 40 hex digits. The digest is unique to this build and cheap to read. Empty if the note was
// stripped.
std::string build_id();

// The digest of another program, for any kind of machine with 64 bits. `head`: the first bytes of
// the program's file; linkers write the notes near the start. Empty if this is not an ELF file, or
// if `head` does not contain the note. (Format: elf(5).)
std::string build_id_in(std::string_view head);

}  // namespace toprun::process
