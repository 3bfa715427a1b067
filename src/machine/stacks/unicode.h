#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>

#include "machine/stacks/layout.h"
#include "machine/stacks/memory.h"

namespace toprun::stacks {

// The maximum number of code points read from a name; the rest is cut off.
inline constexpr std::size_t most_characters = 4096;

// Converts the characters of a Python string, `kind` bytes each (1, 2, 4), to UTF-8. A lone
// surrogate, which represents a byte that was not UTF-8, becomes U+FFFD. nullopt if a character is
// not a code point.
std::optional<std::string> utf8_of(std::span<const std::byte> characters, int kind);

// The text of a str object. nullopt if there is no such object, or if it has a form that names in
// code objects never have (not compact).
std::optional<std::string> read_text(Memory& memory, const Layout& layout, Address object);

}  // namespace toprun::stacks
