#pragma once

#include <optional>
#include <string_view>

#include "machine/stacks/memory.h"

namespace toprun::stacks {

// The address of a symbol that a program or library exports. The address is read from the image in
// memory (elf(5): its header at `base`, the dynamic section, DT_GNU_HASH). No file is opened: the
// file may be deleted, at another path in a container, or on a server that does not answer.
// nullopt: no such symbol, or the image is not 64-bit ELF in this machine's byte order.
std::optional<Address> exported(Memory& memory, Address base, std::string_view symbol);

}  // namespace toprun::stacks
