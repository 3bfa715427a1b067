#include "decide/topology/nest.h"

#include <gtest/gtest.h>

#include "base/text/text.h"
#include "decide/topology/topology_testing.h"

namespace toprun::topology {
namespace {

// "spine leaf | n0 a/b | n1 a/?": the levels, then hosts and their paths.
Map map_of(const std::string& source, std::string_view text) {
  const auto parts = split(text, '|');
  MapBuilder builder(source);
  for (std::size_t i = 1; i < parts.size(); ++i) {
    const auto words = split(trim(parts[i]), ' ');
    Path path;
    for (const std::string_view name : split(words[1], '/')) {
      path.push_back(name == "?" ? std::nullopt : std::optional<std::string>(name));
    }
    EXPECT_TRUE(builder.add(std::string(words[0]), {path, source, {}}, source));
  }
  std::vector<std::string> levels;
  for (const std::string_view name : split(trim(parts[0]), ' ')) levels.emplace_back(name);
  return builder.finish(levels);
}

std::string nested(std::string_view first, std::string_view second) {
  const auto map = nest(map_of("slurm", first), map_of("gcp", second));
  if (!map) return "error: " + map.error().line();
  std::string text = fmt::format("{}", fmt::join(map->levels, " "));
  for (const Map::Entry& entry : map->hosts) {
    text += fmt::format(" | {}", entry.host);
    for (std::size_t i = 0; i < entry.location.path.size(); ++i) {
      text += (i == 0 ? ' ' : '/') + entry.location.path[i].value_or("?");
    }
  }
  return text;
}

struct NestedMaps {
  const char* first;
  const char* second;
  const char* tree;
};

TEST(Nest, OneLevelInsideAnother) {
  const std::vector<NestedMaps> rows = {
      {"leaf | a L | b L | c M", "nvlink | a x | b y | c z", "leaf nvlink | a L/x | b L/y | c M/z"},
      {"leaf | a L | b M | c N", "nvlink | a x | b x | c y", "nvlink leaf | a x/L | b x/M | c y/N"},
      // The levels of one map between those of the other.
      {"spine leaf | a S/1 | b S/1 | c S/2 | d S/3 | e T/4",
       "room rack | a R/x | b R/x | c R/x | d R/y | e R/z",
       "room spine rack leaf | a R/S/x/1 | b R/S/x/1 | c R/S/x/2 | d R/S/y/3 | e R/T/z/4"},
      {"spine leaf | a S/1 | b S/1 | c S/2", "nvlink | a x | b y | c z",
       "spine leaf nvlink | a S/1/x | b S/1/y | c S/2/z"},
  };
  for (const NestedMaps& row : rows) EXPECT_EQ(nested(row.first, row.second), row.tree);
}

TEST(Nest, LevelsThatDivideInTheSameWayAreOne) {
  const std::vector<NestedMaps> rows = {
      {"leaf | a L | b L | c M", "rack | a r | b r | c q", "leaf | a L | b L | c M"},
      {"spine leaf | a S/L | b S/M | c T/N", "cluster rack | a k/r | b k/q | c j/r",
       "spine leaf | a S/L | b S/M | c T/N"},
      // Equal levels have the name from the first map.
      {"spine leaf | a S/L | b T/M", "leaf | a r | b q", "spine leaf | a S/L | b T/M"},
      // NVLink domains, regions and zones stay separate levels.
      {"leaf | a L | b M", "nvlink | a x | b y", "leaf nvlink | a L/x | b M/y"},
      {"leaf | a L | b L", "region zone | a r/z | b r/z", "region zone leaf | a r/z/L | b r/z/L"},
      {"nvlink | a x | b y", "nvlink | a 7 | b 8", "nvlink | a x | b y"},
      // One name for two kinds of levels.
      {"nvlink | a x | b x", "nvlink | a 7 | b 8", "nvlink gcp-nvlink | a x/7 | b x/8"},
  };
  for (const NestedMaps& row : rows) EXPECT_EQ(nested(row.first, row.second), row.tree);
}

TEST(Nest, UnknownIsNoDomain) {
  const std::vector<NestedMaps> rows = {
      // An unknown level neither joins nor separates hosts.
      {"leaf | a L | b L | c M", "nvlink | a x | b x | c ?", "leaf nvlink | a L/x | b L/x | c M/?"},
      {"spine leaf | a S/L | b ?/M | c S/M", "nvlink | a x | b y | c z",
       "spine leaf nvlink | a S/L/x | b ?/M/y | c S/M/z"},
      {"leaf | a L | b M", "nvlink | a x | b y | c y | d z",
       "leaf nvlink | a L/x | b M/y | c ?/y | d ?/z"},
      {"leaf | a L | b L | c L", "rack | a r | b q", "leaf rack | a L/r | b L/q | c L/?"},
      // Two common hosts in one leaf and one rack show that both levels are one; single hosts do
      // not.
      {"leaf | a L | b L", "rack | a r | b r | c r | d q", "leaf | a L | b L | c L | d q"},
      {"leaf | a L | b M", "rack | a r | b q | c q", "leaf rack | a L/r | b M/q | c ?/q"},
      // No common host: the names decide the order, else the first map's levels are outside.
      {"leaf | a L", "zone | b z", "zone leaf | a ?/L | b z/?"},
      {"nvlink | a x", "rack | b r", "rack nvlink | a ?/x | b r/?"},
      {"leaf | a L", "rack | b r", "leaf rack | a L/? | b ?/r"},
  };
  for (const NestedMaps& row : rows) EXPECT_EQ(nested(row.first, row.second), row.tree);
}

TEST(Nest, TwoOfWhichNeitherLiesInsideAreAnError) {
  EXPECT_EQ(nested("leaf | a L | b L | c M", "rack | a r | b q | c q"),
            "error: slurm and gcp contradict each other: a and b share leaf L (slurm) but not rack "
            "(gcp: r and q), and b and c share rack q (gcp) but not leaf (slurm: L and M); choose "
            "one source with --topology");
}

TEST(Nest, RacksOfOneNameInTwoRoomsAreTwo) {
  EXPECT_EQ(nested("room rack | a R/1 | b Q/1", "nvlink | a x | b x"),
            "nvlink room rack | a x/R/1 | b x/Q/1");
}

TEST(Nest, TellsWhatItIsMadeOf) {
  Map first = map_of("slurm", "leaf | a L | b L");
  first.links["leaf"] = {400, {}};
  first.warnings = {"one"};
  Map second = map_of("gcp", "rack | b r");
  second.links["rack"] = {200, {}};
  second.warnings = {"two"};
  const auto map = nest(std::move(first), std::move(second));
  ASSERT_TRUE(map);
  EXPECT_EQ(map->source, "slurm + gcp");
  EXPECT_EQ(map->hosts[0].location.evidence, "slurm");
  EXPECT_EQ(map->hosts[1].location.evidence, "slurm, gcp");
  EXPECT_EQ(map->links.size(), 2u);
  EXPECT_EQ(map->warnings, (std::vector<std::string>{"one", "two"}));
}

TEST(Nest, WithNothingItIsTheOther) {
  const auto map = nest({}, map_of("gcp", "rack | a r"));
  ASSERT_TRUE(map);
  EXPECT_EQ(map->source, "gcp");
  EXPECT_EQ(map->levels, std::vector<std::string>{"rack"});
}

TEST(Nest, MoreLevelsThanATreeHasAreRefused) {
  std::string first, second, path;
  for (int i = 0; i < 9; ++i) {
    first += fmt::format("a{} ", i);
    second += fmt::format("b{} ", i);
    path += fmt::format("{}{}", i == 0 ? "" : "/", i);
  }
  EXPECT_EQ(nested(first + "| a " + path, second + "| b " + path),
            "error: slurm and gcp together: the two sources have more than 16 levels; choose one "
            "source with --topology");
}

}  // namespace
}  // namespace toprun::topology
