#include <gtest/gtest.h>

#include "machine/stacks/python.h"
#include "machine/stacks/stacks_testing.h"

namespace toprun::stacks {
namespace {

template <class T>
std::optional<std::string> utf8(std::initializer_list<T> characters) {
  const std::vector<T> copy(characters);
  return utf8_of(std::as_bytes(std::span(copy)), sizeof(T));
}

TEST(Unicode, BecomesUtf8) {
  EXPECT_EQ(utf8<std::uint8_t>({'a', 0xe9}), "a\u00e9");
  EXPECT_EQ(utf8<std::uint16_t>({'a', 0x7ff, 0x800, 0x6f22}), "a\u07ff\u0800\u6f22");
  EXPECT_EQ(utf8<std::uint32_t>({0xffff, 0x10000, 0x1f600, 0x10ffff}),
            "\uffff\U00010000\U0001f600\U0010ffff");
  EXPECT_EQ(utf8<std::uint8_t>({}), "");
}

TEST(Unicode, IsNotBelieved) {
  EXPECT_EQ(utf8<std::uint32_t>({'a', 0x110000}), std::nullopt);
  EXPECT_EQ(utf8<std::uint16_t>({0xdc80}), "\ufffd");  // a byte of a file's name, as Python has it
  EXPECT_EQ(utf8_of({}, 3), std::nullopt);
}

// A str object of 3.12 at 0x10000.
FakeMemory text_object(std::uint64_t length, std::uint32_t state) {
  FakeMemory memory(std::vector<std::byte>(32'768));
  memory.put<std::uint64_t>(0x10010, length);
  memory.put<std::uint32_t>(0x10020, state);
  return memory;
}

TEST(Unicode, IsReadFromObjects) {
  const Layout layout = *fixed_layout(12);
  constexpr std::uint32_t compact = 1 << 5, ascii = 1 << 6;
  constexpr std::uint32_t one_byte = 1 << 2, two_bytes = 2 << 2, interned = 1;
  auto memory = text_object(5, compact | ascii | one_byte | interned);
  memory.put_text(0x10028, "train?");
  EXPECT_EQ(read_text(memory, layout, 0x10000), "train");

  memory = text_object(1, compact | one_byte);
  memory.put_text(0x10038, "\xe9?");
  EXPECT_EQ(read_text(memory, layout, 0x10000), "\u00e9");

  memory = text_object(1, compact | two_bytes);
  memory.put<std::uint16_t>(0x10038, 0x6f22);
  EXPECT_EQ(read_text(memory, layout, 0x10000), "\u6f22");

  memory = text_object(20'000, compact | ascii | one_byte);
  EXPECT_EQ(read_text(memory, layout, 0x10000)->size(), most_characters);

  for (const auto& [length, state] : std::vector<std::pair<std::uint64_t, std::uint32_t>>{
           {5, one_byte | ascii},                   // not compact
           {5, compact | ascii | two_bytes},        // no ASCII
           {5, compact | 3 << 2},                   // no such kind
           {1u << 30, compact | ascii | one_byte},  // no name is as long
       }) {
    memory = text_object(length, state);
    EXPECT_EQ(read_text(memory, layout, 0x10000), std::nullopt) << length << " " << state;
  }
  EXPECT_EQ(read_text(memory, layout, 0x90000), std::nullopt);
}

}  // namespace
}  // namespace toprun::stacks
