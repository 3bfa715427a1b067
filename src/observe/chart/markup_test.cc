#include <gtest/gtest.h>

#include "base/os/style.h"
#include "observe/chart/page.h"

namespace toprun::chart {
namespace {

TEST(Markup, CleansWhatMayNotStand) {
  const struct {
    std::string_view text, clean;
  } rows[] = {
      {"n0", "n0"},
      {"räck-東京", "räck-東京"},
      {"a\nb\tc\x1b[1m\x7f", "a\\nb\\tc\\x1b[1m\\x7f"},
      {std::string_view("a\0b", 3), "a\\x00b"},
      {"a\xff", "a\uFFFD"},                    // invalid UTF-8
      {"a\xc3", "a\uFFFD"},                    // incomplete
      {"\xc0\xaf", "\uFFFD\uFFFD"},            // an overlong slash
      {"\xed\xa0\x80", "\uFFFD\uFFFD\uFFFD"},  // half of a surrogate pair
      {"\xf5\x80\x80\x80", "\uFFFD\uFFFD\uFFFD\uFFFD"},
      {"a\uFFFF"
       "b",
       "a\uFFFD"
       "b"},  // invalid in XML
      {"a\u202E"
       "b\u2066",
       "a\uFFFD"
       "b\uFFFD"},  // reverses the text direction
      {"a\u0085"
       "b\u2028",
       "a\uFFFD"
       "b\uFFFD"},  // line breaks
  };
  for (const auto& [text, clean] : rows) EXPECT_EQ(clean_text(text), clean) << text;
}

TEST(Markup, ShortensInTheMiddle) {
  const struct {
    std::string_view text;
    std::size_t most;
    std::string_view shown;
  } rows[] = {
      {"n0", 3, "n0"},
      {"node-0001", 9, "node-0001"},
      {"node-0001", 7, "nod…001"},
      {"node-0001", 8, "node…001"},
      {"東京東京東", 7, "東京…東"},
      {"abcd", 3, "a…d"},
  };
  for (const auto& [text, most, shown] : rows) {
    EXPECT_EQ(both_ends(text, most), shown);
    EXPECT_LE(columns_of(both_ends(text, most)), most);
  }
}

TEST(Markup, Escapes) {
  EXPECT_EQ(xml_text("<a href=\"x\">'&amp;"), "&lt;a href=&quot;x&quot;&gt;&#39;&amp;amp;");
  EXPECT_EQ(dot_text("a\"b\\N&lt;"), "a\\\"b\\\\N&amp;lt;");
}

}  // namespace
}  // namespace toprun::chart
