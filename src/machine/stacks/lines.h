#pragma once

#include <cstddef>
#include <span>

namespace toprun::stacks {

// Converts an offset in a code object to its line, with the compiler's line table. The bytes come
// from another process and may be invalid; no function reads beyond their end. 0: the instruction
// has no line, or it is not in the table.
//
// `offset_bytes` counts from the first instruction. A negative offset means that the function has
// not begun yet. For a negative offset, the result is `first_line` (co_firstlineno).

// Up to 3.9: co_lnotab, pairs of a byte count and a signed line count (CPython,
// Objects/lnotab_notes.txt in those versions).
int line_by_lnotab(std::span<const std::byte> table, int first_line, int offset_bytes);

// 3.10: co_linetable in the form of PEP 626, the same pairs with another meaning
// (Objects/lnotab_notes.txt in 3.10).
int line_by_ranges(std::span<const std::byte> table, int first_line, int offset_bytes);

// From 3.11: co_linetable in the form of PEP 657. Each entry has a start byte, which contains its
// kind, and data for that kind (Objects/locations.md, later InternalDocs/code_objects.md).
int line_by_locations(std::span<const std::byte> table, int first_line, int offset_bytes);

}  // namespace toprun::stacks
