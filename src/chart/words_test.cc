#include "chart/words.h"

#include <gtest/gtest.h>

namespace toprun::chart {
namespace {

TEST(Words, MayStandInXml) {
  const struct {
    std::string_view text, shown;
  } rows[] = {
      {"n0", "n0"},
      {"räck-東京", "räck-東京"},
      {"<a b=\"c\">'&amp;", "&lt;a b=&quot;c&quot;&gt;&#39;&amp;amp;"},
      {"a\nb\x1b[1m", "a\\nb\\x1b[1m"},
      {std::string_view("a\0b", 3), "a\\x00b"},
      {"a\xff", "a\uFFFD"},
      {"a\u202Eb",
       "a\uFFFD"
       "b"},
  };
  for (const auto& [text, shown] : rows) EXPECT_EQ(xml_text(text), shown);
}

TEST(Words, LoseTheirMiddle) {
  const struct {
    std::string_view text;
    std::size_t most;
    std::string_view shown;
  } rows[] = {
      {"n0", 3, "n0"},         {"node-0001", 9, "node-0001"}, {"node-0001", 8, "node…001"},
      {"node-0001", 3, "n…1"}, {"東京東京東", 3, "東…東"},
  };
  for (const auto& [text, most, shown] : rows) EXPECT_EQ(shortened(text, most), shown);
}

TEST(Words, TakeRoom) {
  EXPECT_DOUBLE_EQ(width_px("abcde", 10), 30);
  EXPECT_DOUBLE_EQ(width_px("東京", 10), 20);
  EXPECT_DOUBLE_EQ(width_px("a…b", 10), 18);
}

TEST(Words, Coordinates) {
  const struct {
    double value;
    std::string_view shown;
  } rows[] = {{12, "12"}, {12.04, "12"}, {12.05, "12.1"}, {-0.01, "0"}, {899.96, "900"}};
  for (const auto& [value, shown] : rows) EXPECT_EQ(coordinate(value), shown);
}

}  // namespace
}  // namespace toprun::chart
