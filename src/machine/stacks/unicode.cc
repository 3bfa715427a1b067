#include "machine/stacks/unicode.h"

#include <algorithm>
#include <cstdint>
#include <vector>

namespace toprun::stacks {
namespace {

// A longer name is not a name, but what was read while it changed.
constexpr std::uint64_t longest_plausible = 1u << 20;

char32_t character_at(std::span<const std::byte> characters, std::size_t index, int kind) {
  if (kind == 1) return value_at<std::uint8_t>(characters, index);
  if (kind == 2) return value_at<std::uint16_t>(characters, index * 2);
  return value_at<std::uint32_t>(characters, index * 4);
}

void append(std::string& out, char32_t code) {
  const auto put = [&](char32_t bits) { out.push_back(static_cast<char>(bits)); };
  if (code < 0x80) {
    put(code);
  } else if (code < 0x800) {
    put(0xc0 | code >> 6);
    put(0x80 | (code & 0x3f));
  } else if (code < 0x10000) {
    put(0xe0 | code >> 12);
    put(0x80 | (code >> 6 & 0x3f));
    put(0x80 | (code & 0x3f));
  } else {
    put(0xf0 | code >> 18);
    put(0x80 | (code >> 12 & 0x3f));
    put(0x80 | (code >> 6 & 0x3f));
    put(0x80 | (code & 0x3f));
  }
}

}  // namespace

std::optional<std::string> utf8_of(std::span<const std::byte> characters, int kind) {
  constexpr char32_t replacement = 0xfffd;
  constexpr char32_t largest = 0x10ffff;
  if (kind != 1 && kind != 2 && kind != 4) return std::nullopt;
  std::string out;
  for (std::size_t i = 0; i < characters.size() / static_cast<std::size_t>(kind); ++i) {
    const char32_t code = character_at(characters, i, kind);
    if (code > largest) return std::nullopt;
    append(out, code >= 0xd800 && code < 0xe000 ? replacement : code);
  }
  return out;
}

std::optional<std::string> read_text(Memory& memory, const Layout& layout, Address object) {
  const auto length = memory.get<std::uint64_t>(object + layout.text_length);
  const auto state = memory.get<std::uint32_t>(object + layout.text_state);
  if (!length || !state || *length > longest_plausible) return std::nullopt;
  const std::uint32_t bits = *state >> layout.text_kind_bit;
  const int kind = static_cast<int>(bits & 7);
  const bool compact = (bits >> 3 & 1) != 0;
  const bool ascii = (bits >> 4 & 1) != 0;
  if (!compact || (ascii && kind != 1)) return std::nullopt;
  if (kind != 1 && kind != 2 && kind != 4) return std::nullopt;

  const auto count = static_cast<std::size_t>(std::min<std::uint64_t>(*length, most_characters));
  std::vector<std::byte> characters(count * static_cast<std::size_t>(kind));
  const Address data = object + (ascii ? layout.ascii_data : layout.other_data);
  if (!memory.read(data, characters)) return std::nullopt;
  return utf8_of(characters, kind);
}

}  // namespace toprun::stacks
