#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "machine/stacks/memory.h"

namespace toprun::stacks {

// The address of a symbol that a program or library exports, from its image in memory (elf(5): its
// header at `base`, the dynamic section, DT_GNU_HASH). No file is opened: that may be deleted,
// elsewhere in a container, or on a server that does not answer. Nothing if it exports none of that
// name, or is not ELF of 64 bits in this machine's byte order.
std::optional<Address> exported(Memory& memory, Address base, std::string_view symbol);

}  // namespace toprun::stacks
