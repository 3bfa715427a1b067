#include "observe/chart/page.h"

#include <gtest/gtest.h>

namespace toprun::chart {
namespace {

TEST(Page, TextsTakeRoom) {
  EXPECT_DOUBLE_EQ(width_px("abcde", 10), 30);
  EXPECT_DOUBLE_EQ(width_px("東京", 10), 24);
  EXPECT_DOUBLE_EQ(width_px("a…b", 10), 18);
}

TEST(Page, EscapesWhatUsersWrote) {
  Page page("<title>", "", 10);
  page.text(1, 2, "a\x1b<\xff");
  const std::string svg = std::move(page).end();
  EXPECT_NE(svg.find("&lt;title&gt;"), svg.npos);
  EXPECT_NE(svg.find(">a\\x1b&lt;\uFFFD</text>"), svg.npos) << svg;
}

TEST(Page, Coordinates) {
  const struct {
    double value;
    std::string_view shown;
  } rows[] = {{12, "12"}, {12.04, "12"}, {12.05, "12.1"}, {-0.01, "0"}, {899.96, "900"}};
  for (const auto& [value, shown] : rows) EXPECT_EQ(coordinate(value), shown);
}

}  // namespace
}  // namespace toprun::chart
