#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>

#include "machine/stacks/layout.h"
#include "machine/stacks/memory.h"

namespace toprun::stacks {

// Code points of a name that are read; what is behind them is cut off.
inline constexpr std::size_t most_characters = 4096;

// The characters of a Python string, `kind` bytes each (1, 2, 4), as UTF-8. A lone surrogate, which
// stands for a byte that was not UTF-8, becomes U+FFFD. Nothing if one is not a code point.
std::optional<std::string> utf8_of(std::span<const std::byte> characters, int kind);

// The text of a str object. Nothing if what stands there is none, or one of a form that names in
// code objects never have (not compact).
std::optional<std::string> read_text(Memory& memory, const Layout& layout, Address object);

}  // namespace toprun::stacks
