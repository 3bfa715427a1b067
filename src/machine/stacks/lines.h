#pragma once

#include <cstddef>
#include <span>

namespace toprun::stacks {

// From a place in a code object to its line, by the table that the compiler left. The bytes come
// from another process and may be anything; every function ends at their end. 0: the instruction
// has no line, or the table does not reach it.
//
// `offset_bytes` counts from the first instruction; below 0 the function has not begun, and
// `first_line` (co_firstlineno) is the answer.

// Up to 3.9: co_lnotab, pairs of a byte count and a signed line count
// (CPython, Objects/lnotab_notes.txt of those versions).
int line_by_lnotab(std::span<const std::byte> table, int first_line, int offset_bytes);

// 3.10: co_linetable as PEP 626 has it, the same pairs with another meaning
// (Objects/lnotab_notes.txt of 3.10).
int line_by_ranges(std::span<const std::byte> table, int first_line, int offset_bytes);

// From 3.11: co_linetable as PEP 657 has it, entries of a start byte and what its kind says
// (Objects/locations.md, later InternalDocs/code_objects.md).
int line_by_locations(std::span<const std::byte> table, int first_line, int offset_bytes);

}  // namespace toprun::stacks
