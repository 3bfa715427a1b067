#pragma once

#include <string>
#include <string_view>

namespace toprun::process {

// The linker's digest of this program (the ELF note NT_GNU_BUILD_ID, requested in Flags.cmake) as
// 40 hex digits. The digest is unique to this build and cheap to read. Empty if the note was
// stripped.
std::string build_id();

// The same of the program in a file, for any kind of machine with 64 bits. `head`: the file's first
// bytes, which linkers begin with the notes. Empty: this is not such a program, or its note is not
// in these bytes. (Format: elf(5).)
std::string build_id_in(std::string_view head);

}  // namespace toprun::process
