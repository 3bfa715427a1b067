#include <gtest/gtest.h>

#include <limits>

#include "observe/chart/chart.h"

namespace toprun::chart {
namespace {

LineChart sample() {
  return {"all-reduce",
          {"message size", "B", Scale::log2},
          {"busbw", "GB/s", Scale::linear},
          {{"ring", {{1024, 1}, {1048576, 40}}}, {"tree", {{1024, 2}, {1048576, 30}}}},
          {{"line rate", 50}},
          {"8 nodes"}};
}

std::size_t count(const std::string& text, std::string_view part) {
  std::size_t found = 0;
  for (auto at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++found;
  return found;
}

TEST(LineChart, ShowsItsParts) {
  const auto picture = svg(sample());
  ASSERT_TRUE(picture) << picture.error().line();
  for (const std::string_view part :
       {"<title id=\"title\">all-reduce</title>",
        "<desc id=\"desc\">busbw [GB/s] over message size; ring: at most 40 at 1 MiB; tree: at "
        "most "
        "30 at 1 MiB.</desc>",
        "viewBox=\"0 0 900 ", "prefers-color-scheme: dark", ">1 KiB</text>", ">1 MiB</text>",
        ">50</text>", ">ring</text>", ">tree</text>", ">line rate: 50 GB/s</text>",
        ">8 nodes</text>", ">busbw [GB/s]</text>"}) {
    EXPECT_EQ(count(*picture, part), 1u) << part;
  }
}

TEST(LineChart, ShowsTheSpreadOfAFigure) {
  LineChart chart = sample();
  const auto before = svg(chart);
  chart.series[0].points[1].spread = {30, 90};
  const auto picture = svg(chart);
  ASSERT_TRUE(before && picture);
  EXPECT_EQ(count(*picture, "<path class=\"c0\""), count(*before, "<path class=\"c0\"") + 1);
  EXPECT_EQ(count(*picture, ">80</text>"), 1u) << "the axis has room for it";
  chart.series[0].points[1].spread = {std::numeric_limits<double>::quiet_NaN(), 90};
  EXPECT_FALSE(svg(chart));
}

TEST(LineChart, ABarStandsAtItsMarker) {
  LineChart chart = sample();
  chart.series[0].points[1].spread = {30, 90};
  const auto picture = svg(chart);
  ASSERT_TRUE(picture);
  // The right end of the plot, less half of the distance between the bars of two series.
  EXPECT_EQ(count(*picture, "translate(870.5 "), 1u) << *picture;
  EXPECT_EQ(count(*picture, "M866.5 "), 1u) << "the bar, 8 wide";
}

TEST(LineChart, ANameMayFillALineOfTheLegend) {
  LineChart chart = sample();
  chart.series[0].name = "all_reduce over nccl, fabric rdma, 16 ranks on 2 nodes, order topology";
  const auto picture = svg(chart);
  ASSERT_TRUE(picture);
  EXPECT_EQ(count(*picture, ">" + chart.series[0].name + "</text>"), 1u);
}

TEST(LineChart, TellsSeriesApartWithoutColour) {
  LineChart chart = sample();
  chart.series.assign(most_series, chart.series[0]);
  const auto picture = svg(chart);
  ASSERT_TRUE(picture) << picture.error().line();
  // A line in the plot and one in the legend: three dashes for each colour would not do.
  EXPECT_EQ(count(*picture, "stroke-dasharray=\"8 4\""), 2 * most_series / 4);
  EXPECT_EQ(count(*picture, "M-3.5 -3.5h7v7h-7z"), 3 * most_series / 6);
}

TEST(LineChart, Escapes) {
  LineChart chart = sample();
  const std::string odd = "<&\"'>\x01\xff";
  chart.title = chart.x.label = chart.y.label = chart.series[0].name = odd;
  chart.limits[0].name = chart.notes[0] = chart.y.unit = odd;
  const auto picture = svg(chart);
  ASSERT_TRUE(picture) << picture.error().line();
  EXPECT_EQ(count(*picture, "&\""), 0u);
  EXPECT_EQ(count(*picture, "<&"), 0u);
  EXPECT_EQ(count(*picture, "\x01"), 0u);
  EXPECT_GE(count(*picture, "&lt;&amp;&quot;&#39;&gt;\\x01\uFFFD"), 6u);
}

TEST(LineChart, MarksSomeOfManyPoints) {
  LineChart chart = sample();
  chart.limits.clear();
  chart.series = {{"one", {}}};
  for (int i = 1; i <= 1000; ++i) chart.series[0].points.push_back({1.0 * i, 1.0 * i});
  const auto picture = svg(chart);
  ASSERT_TRUE(picture) << picture.error().line();
  EXPECT_EQ(count(*picture, "stroke=\"none\""), 41u);  // and one in the legend
}

TEST(LineChart, Refuses) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const auto with = [](auto change) {
    LineChart chart = sample();
    change(chart);
    return chart;
  };
  const struct {
    LineChart chart;
    std::string_view line;
  } rows[] = {
      {with([](LineChart& c) { c.series.clear(); }),
       "the chart \"all-reduce\" cannot be drawn: the chart has no points"},
      {with([](LineChart& c) {
         c.series = {{"empty", {}}};
       }),
       "the chart \"all-reduce\" cannot be drawn: the chart has no points"},
      {with([](LineChart& c) { c.series[0].points[0].x = 0; }),
       "the chart \"all-reduce\" cannot be drawn: the chart's axes have no place for the point (0, "
       "1) of the series \"ring\""},
      {with([&](LineChart& c) { c.series[1].points[0].y = nan; }),
       "the chart \"all-reduce\" cannot be drawn: the chart's axes have no place for the point "
       "(1024, nan) of the series \"tree\""},
      {with([&](LineChart& c) { c.limits[0].y = nan; }),
       "the chart \"all-reduce\" cannot be drawn: the chart's axis has no place for the limit nan "
       "of \"line rate\""},
      {with([](LineChart& c) { c.series.resize(13); }),
       "the chart \"all-reduce\" cannot be drawn: the chart has 13 series, more than the 12 that "
       "can be told apart"},
      {with([](LineChart& c) { c.limits.resize(5); }),
       "the chart \"all-reduce\" cannot be drawn: the chart has 5 limit lines, more than 4"},
      {with([](LineChart& c) {
         c.series[0].points.resize(100'000, {1, 1});
       }),
       "the chart \"all-reduce\" cannot be drawn: the chart has 100002 points, more than 100000"},
  };
  for (const auto& [chart, line] : rows) {
    const auto picture = svg(chart);
    ASSERT_FALSE(picture) << line;
    EXPECT_EQ(picture.error().line(), line);
  }
}

}  // namespace
}  // namespace toprun::chart
