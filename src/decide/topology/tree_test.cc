#include "decide/topology/tree.h"

#include <gtest/gtest.h>

namespace toprun::topology {
namespace {

using Names = std::vector<std::string>;

TEST(Tree, WritesALocationAsItWasReadOrJoined) {
  EXPECT_EQ(location_text({{"c", "b"}, "", ""}, "n0"), "/c/b/n0");
  EXPECT_EQ(location_text({{"c", std::nullopt}, "", ""}, "n0"), "/c//n0");
  EXPECT_EQ(location_text({{"c", "b"}, "", "/c/b/4711"}, "n0"), "/c/b/4711");
  EXPECT_EQ(location_text({{std::nullopt}, "", ""}, "n0"), "unknown");
  EXPECT_EQ(location_text({}, "n0"), "unknown");
}

TEST(Tree, NamesSwitchLevelsFromTheLeaf) {
  EXPECT_EQ(switch_level_names(0), Names{});
  EXPECT_EQ(switch_level_names(1), Names{"leaf"});
  EXPECT_EQ(switch_level_names(4), (Names{"level3", "core", "spine", "leaf"}));
}

Map map(std::vector<std::string> levels, std::vector<std::pair<std::string, Path>> hosts,
        const std::string& evidence) {
  Map m{evidence, std::move(levels), {}, {}};
  for (auto& [host, path] : hosts) m.hosts.push_back({host, {path, evidence + " of " + host, {}}});
  return m;
}

TEST(Tree, MergeFillsWhatOneSourceDoesNotKnow) {
  const auto merged =
      merge(map({"leaf"}, {{"n0", {"s0"}}}, "a"),
            map({"spine", "leaf"}, {{"n0", {"p0", "s0"}}, {"n1", {"p0", "s1"}}}, "b"));
  ASSERT_TRUE(merged) << merged.error().line();
  EXPECT_EQ(merged->levels, (std::vector<std::string>{"spine", "leaf"}));
  ASSERT_EQ(merged->hosts.size(), 2u);
  EXPECT_EQ(merged->hosts[0].location.path, (Path{"p0", "s0"}));
  EXPECT_EQ(merged->hosts[0].location.evidence, "a of n0");
  EXPECT_EQ(merged->hosts[1].location.evidence, "b of n1");
}

TEST(Tree, MergeKnowsTheSameSwitchesInAnotherOrder) {
  EXPECT_TRUE(merge(map({"spine"}, {{"n0", {"sp[0-1]"}}}, "a"),
                    map({"spine"}, {{"n0", {"sp[1,0]"}}}, "b")));
}

TEST(Tree, MergeKeepsTheOneThatKnowsSomething) {
  const Map nothing;
  const auto kept = merge(nothing, map({"leaf"}, {{"n0", {"s0"}}}, "a"));
  EXPECT_EQ(kept->source, "a");
  EXPECT_EQ(merge(map({"leaf"}, {}, "file x"), nothing)->source, "file x");
  const auto flat = merge(map({}, {{"n0", {}}}, "flat"), map({"leaf"}, {{"n0", {"s0"}}}, "a"));
  EXPECT_EQ(flat->levels, std::vector<std::string>{"leaf"});
}

TEST(Tree, MergeRefusesContradictionsAndNamesBoth) {
  const auto place =
      merge(map({"leaf"}, {{"n0", {"s0"}}}, "a"), map({"leaf"}, {{"n0", {"s1"}}}, "b"));
  ASSERT_FALSE(place);
  EXPECT_EQ(place.error().line(),
            "host n0 has two positions: a of n0 says /s0/n0, b of n0 says /s1/n0; choose one "
            "source with --topology");
  const auto kind =
      merge(map({"leaf"}, {{"n0", {"s0"}}}, "a"), map({"block"}, {{"n1", {"b"}}}, "b"));
  ASSERT_FALSE(kind);
  EXPECT_EQ(kind.error()->what, "a of n0 and b of n1 contradict each other");
}

}  // namespace
}  // namespace toprun::topology
