#include "machine/stacks/lines.h"

#include <cstdint>
#include <limits>

namespace toprun::stacks {
namespace {

int unsigned_at(std::span<const std::byte> table, std::size_t at) {
  return std::to_integer<int>(table[at]);
}

int signed_at(std::span<const std::byte> table, std::size_t at) {
  return static_cast<std::int8_t>(unsigned_at(table, at));
}

int as_line(std::int64_t line) {
  return line > 0 && line <= std::numeric_limits<int>::max() ? static_cast<int>(line) : 0;
}

// The forms of an entry of PEP 657's table, in bits 3 to 6 of its first byte.
constexpr int one_line = 10;  // to 12: the line is 0 to 2 below the one before
constexpr int no_columns = 13;
constexpr int long_form = 14;
constexpr int no_line = 15;

constexpr int unit_bytes = 2;  // of an instruction

// A number in groups of six bits, the lowest first, whose lowest bit is the sign.
std::int64_t signed_number(std::span<const std::byte> table, std::size_t at) {
  constexpr int group_bits = 6;
  constexpr unsigned more = 0x40;
  std::uint64_t value = 0;
  for (int shift = 0; at < table.size() && shift < 36; ++at, shift += group_bits) {
    const auto byte = std::to_integer<unsigned>(table[at]);
    value |= static_cast<std::uint64_t>(byte & 0x3f) << shift;
    if ((byte & more) == 0) break;
  }
  const auto half = static_cast<std::int64_t>(value >> 1);
  return (value & 1) != 0 ? -half : half;
}

}  // namespace

int line_by_lnotab(std::span<const std::byte> table, int first_line, int offset_bytes) {
  std::int64_t line = first_line;
  int address = 0;
  for (std::size_t i = 0; i + 1 < table.size(); i += 2) {
    address += unsigned_at(table, i);
    if (address > offset_bytes) break;
    line += signed_at(table, i + 1);
  }
  return as_line(line);
}

int line_by_ranges(std::span<const std::byte> table, int first_line, int offset_bytes) {
  constexpr int none = -128;
  if (offset_bytes < 0) return as_line(first_line);
  std::int64_t line = first_line;
  int end = 0;
  for (std::size_t i = 0; i + 1 < table.size(); i += 2) {
    end += unsigned_at(table, i);
    const int step = signed_at(table, i + 1);
    if (step != none) line += step;
    if (end > offset_bytes) return step == none ? 0 : as_line(line);
  }
  return 0;
}

int line_by_locations(std::span<const std::byte> table, int first_line, int offset_bytes) {
  constexpr unsigned start_bit = 0x80;
  if (offset_bytes < 0) return as_line(first_line);
  std::int64_t line = first_line;
  int end = 0;
  for (std::size_t at = 0; at < table.size();) {
    const auto first = std::to_integer<unsigned>(table[at++]);
    const int form = static_cast<int>(first >> 3 & 0xf);
    end += static_cast<int>((first & 7) + 1) * unit_bytes;
    if (form == no_columns || form == long_form) line += signed_number(table, at);
    if (form >= one_line && form < no_columns) line += form - one_line;
    if (end > offset_bytes) return form == no_line ? 0 : as_line(line);
    while (at < table.size() && (std::to_integer<unsigned>(table[at]) & start_bit) == 0) ++at;
  }
  return 0;
}

}  // namespace toprun::stacks
