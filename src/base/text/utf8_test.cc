#include <gtest/gtest.h>

#include "base/text/text.h"

namespace toprun {
namespace {

TEST(Utf8, TakesOneCharacterOrOneBadByte) {
  const struct {
    std::string_view text, bytes;
    bool valid;
  } rows[] = {
      {"ab", "a", true},
      {"é!", "é", true},
      {"東京", "東", true},
      {"\xff!", "\xff", false},
      {"\xc3", "\xc3", false},
      {"\xc0\xaf", "\xc0", false},      // an overlong slash
      {"\xed\xa0\x80", "\xed", false},  // half of a surrogate pair
      {"\xf5\x80\x80\x80", "\xf5", false},
  };
  for (const auto& [text, bytes, valid] : rows) {
    const Character first = first_character(text);
    EXPECT_EQ(first.bytes, bytes) << text;
    EXPECT_EQ(first.valid, valid) << text;
  }
}

TEST(Utf8, KnowsWhatATerminalWouldObey) {
  for (const std::string_view text : {"a", "~", "ä", "京", "…", "\u200d", "\U0001F600"}) {
    EXPECT_TRUE(is_harmless(first_character(text))) << text;
  }
  for (const std::string_view text :
       {"\x1b", "\n", "\x7f", "\u0085", "\u009b", "\u202e", "\u2066", "\u200f", "\u061c", "\u2028",
        "\uffff", "\u200b", "\u2060", "\ufeff", "\U000e0041", "\xff"}) {
    EXPECT_FALSE(is_harmless(first_character(text))) << text;
  }
}

TEST(Utf8, PrintableLinesKeepTheirEndsAndColours) {
  const struct {
    std::string_view text, shown;
  } rows[] = {
      {"a\tb\nc\n", "a\tb\nc\n"},
      {"\033[1;31mred\033[0m", "\033[1;31mred\033[0m"},
      {"\033[2J\033]0;title\a\033[31", "\\x1b[2J\\x1b]0;title\\x07\\x1b[31"},
      {"a\rb", "a\\x0db"},
  };
  for (const auto& [text, shown] : rows) EXPECT_EQ(printable_lines(text), shown);
}

}  // namespace
}  // namespace toprun
