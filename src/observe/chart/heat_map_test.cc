#include "observe/chart/heat_map.h"

#include <gtest/gtest.h>

#include <limits>
#include <random>

namespace toprun::chart {
namespace {

constexpr double not_measured = std::numeric_limits<double>::quiet_NaN();

HeatMap sample(std::size_t nodes) {
  HeatMap map;
  map.title = "pairs";
  map.unit = "Gbps";
  for (std::size_t i = 0; i < nodes; ++i) map.names.push_back("n" + std::to_string(i));
  map.values.assign(nodes * nodes, 100);
  for (std::size_t i = 0; i < nodes; ++i) map.values[i * nodes + i] = not_measured;
  return map;
}

bool holds(const std::string& text, std::string_view part) {
  return text.find(part) != std::string::npos;
}

std::string drawn(const HeatMap& map) {
  const auto picture = svg(map);
  return picture ? *picture : picture.error().line();
}

TEST(HeatMap, ShowsItsParts) {
  HeatMap map = sample(4);
  map.values[1] = 0;
  map.names[3] = "<&>";
  map.groups = {{"r<1>", 0, 2}, {"r2", 2, 2}};
  const std::string picture = drawn(map);
  for (const std::string_view part :
       {"<title id=\"title\">pairs</title>", "to each other node; 12 pairs were measured.</desc>",
        ">Gbps</text>", ">n2</text>", ">&lt;&amp;&gt;</text>", ">r&lt;1&gt;</text>", ">r2</text>",
        ">0</text>", ">100</text>", ">not measured</text>", "d=\"M1 0h1\"",
        "d=\"M2 0h2M0 1h1M2 1h2M0 2h2M3 2h1M0 3h3\"", ">Rows send, columns receive.</text>"}) {
    EXPECT_TRUE(holds(picture, part)) << part;
  }
}

// A pair of hosts that is a hundred times slower than others must not look as they do.
TEST(HeatMap, OnALogarithmicScaleEachPowerOfTenHasItsShades) {
  HeatMap map = sample(3);
  map.scale = Scale::log10;
  map.values[1] = 1;
  map.values[2] = 10;
  const std::string picture = drawn(map);
  EXPECT_TRUE(holds(picture, "<path stroke=\"#440154\" d=\"M1 0h1\"/>")) << picture;
  EXPECT_TRUE(holds(picture, "<path stroke=\"#fde725\" d=\"M0 1h1M2 1h1M0 2h2\"/>")) << picture;
  EXPECT_FALSE(holds(picture, "<path stroke=\"#440154\" d=\"M1 0h2\"/>")) << picture;
  for (const std::string_view tick : {">1</text>", ">10</text>", ">100</text>"}) {
    EXPECT_TRUE(holds(picture, tick)) << tick;
  }
}

TEST(HeatMap, NoiseDoesNotLookLikeADifference) {
  HeatMap map = sample(3);
  map.scale = Scale::log10;
  map.values[1] = 95;
  EXPECT_FALSE(holds(drawn(map), "#440154\" d")) << "the darkest shade is that of half as much";
}

TEST(HeatMap, HasFiguresInTheCellsOfFewNodes) {
  for (const std::size_t nodes : {most_with_figures, most_with_figures + 1}) {
    HeatMap map = sample(nodes);
    map.figures.assign(map.values.size(), "9.8");
    EXPECT_EQ(holds(drawn(map), ">9.8</text>"), nodes == most_with_figures) << nodes;
  }
}

TEST(HeatMap, FramesWhatWasFound) {
  HeatMap map = sample(4);
  EXPECT_FALSE(holds(drawn(map), "class=\"frame\""));
  map.frames = {{1, 1, 0, 4}};
  const std::string picture = drawn(map);
  EXPECT_TRUE(holds(picture, "width=\"394\" height=\"94\" class=\"frame\"")) << picture;
  EXPECT_TRUE(holds(picture, "Frames mark the findings."));
}

TEST(HeatMap, IsNoWiderThanWhatStandsInIt) {
  EXPECT_TRUE(holds(drawn(sample(2)), " viewBox=\"0 0 383.2 ")) << drawn(sample(2));
  EXPECT_TRUE(holds(drawn(sample(100)), " viewBox=\"0 0 776 "));
  HeatMap map = sample(2);
  map.notes = {std::string(200, 'x')};
  EXPECT_TRUE(holds(drawn(map), " viewBox=\"0 0 704.4 "));
}

TEST(HeatMap, MergesCellsToTheWorst) {
  HeatMap map = sample(500);
  map.values[3] = 10;
  EXPECT_TRUE(holds(drawn(map), "d=\"M1 0h1\""));
  EXPECT_TRUE(holds(drawn(map), "lowest of 2 × 2 pairs"));
  map.low_is_bad = false;
  EXPECT_FALSE(holds(drawn(map), "d=\"M1 0h1\""));
  EXPECT_TRUE(holds(drawn(map), "highest of 2 × 2 pairs"));
}

TEST(HeatMap, NamesWhereThereIsRoom) {
  EXPECT_TRUE(holds(drawn(sample(53)), ">n52</text>"));
  EXPECT_FALSE(holds(drawn(sample(54)), ">n52</text>"));
}

TEST(HeatMap, IsBounded) {
  std::mt19937 random(3);
  for (const std::size_t nodes : {2u, 250u, 251u, 999u, 1000u}) {
    HeatMap map = sample(nodes);
    for (double& value : map.values) value = static_cast<double>(random() % 1000);
    for (std::size_t i = 0; i + 4 <= nodes; i += 4) map.groups.push_back({"rack", i, 4});
    EXPECT_LE(drawn(map).size(), most_bytes) << nodes;
  }
}

TEST(HeatMap, Refuses) {
  const auto with = [](auto change) {
    HeatMap map = sample(2);
    change(map);
    return map;
  };
  const struct {
    HeatMap map;
    std::string_view why;
  } rows[] = {
      {{}, "the map has 0 nodes, but only 2 to 1000 nodes are possible"},
      {sample(1001), "the map has 1001 nodes, but only 2 to 1000 nodes are possible"},
      {with([](HeatMap& m) { m.values.pop_back(); }), "the map has 3 values for 2 nodes"},
      {with([](HeatMap& m) { m.values.assign(4, not_measured); }),
       "the map contains no measured value"},
      {with([](HeatMap& m) { m.values[1] = std::numeric_limits<double>::infinity(); }),
       "a value is infinite"},
      {with([](HeatMap& m) {
         m.groups = {{"r", 1, 2}};
       }),
       "the group \"r\" goes beyond the map's nodes"},
      {with([](HeatMap& m) {
         m.groups.assign(251, {"r", 0, 1});
       }),
       "the map has 251 groups, more than 250"},
      {with([](HeatMap& m) {
         m.frames = {{1, 1, 0, 3}};
       }),
       "a frame goes beyond the map's nodes"},
      {with([](HeatMap& m) {
         m.frames.assign(101, {0, 1, 0, 1});
       }),
       "the map has 101 frames, more than 100"},
      {with([](HeatMap& m) { m.figures = {"1"}; }), "the map has 1 figures for 4 values"},
      {with([](HeatMap& m) {
         m.scale = Scale::log10;
         m.values[1] = 0;
       }),
       "a value on the map's logarithmic scale is not above 0"},
  };
  for (const auto& [map, why] : rows) {
    EXPECT_EQ(drawn(map),
              "the heat map \"" + map.title + "\" cannot be drawn: " + std::string(why));
  }
}

}  // namespace
}  // namespace toprun::chart
