#include "observe/report/outline.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "observe/report/report_testing.h"

namespace toprun::report {
namespace {

using topology::Path;

// Levels that a branch does not have are left out of it.
TEST(Outline, AnUnevenTree) {
  const auto none = topology::Domain::none();
  const auto placement = placement_of(
      {"core", "spine", "leaf"},
      {{"n0", {"c", none, "s0"}}, {"n1", {"c", "p", "s1"}}, {"n2", {"c", std::nullopt, "s2"}}});
  EXPECT_EQ(outline_text(placement),
            "core c           3 nodes\n"
            "  spine p        1 node\n"
            "    leaf s1      1 node   n1\n"
            "  leaf s0        1 node   n0\n"
            "  spine unknown  1 node\n"
            "    leaf s2      1 node   n2\n");
  const auto json = nlohmann::json::parse(outline_json(placement));
  EXPECT_EQ(json["domains"][0]["domains"][1]["level"], "leaf");
  EXPECT_EQ(json["domains"][0]["domains"][1]["hosts"], nlohmann::json({"n0"}));
  EXPECT_EQ(json["domains"][0]["domains"][2]["name"], nullptr);
}

TEST(Outline, ATreeWithCountsAndHosts) {
  const auto placement = placement_of({"core", "spine", "leaf"}, {{"n0", {"c", "s1", "l1"}},
                                                                  {"n1", {"c", "s0", "l0"}},
                                                                  {"n2", {"c", "s1", "l1"}},
                                                                  {"n3", {"c", "s1", "l2"}},
                                                                  {"n4", {"d", "s1", "l1"}}});
  EXPECT_EQ(outline_text(placement),
            "core c       4 nodes\n"
            "  spine s0   1 node\n"
            "    leaf l0  1 node   n1\n"
            "  spine s1   3 nodes\n"
            "    leaf l1  2 nodes  n[0,2]\n"
            "    leaf l2  1 node   n3\n"
            "core d       1 node\n"
            "  spine s1   1 node\n"
            "    leaf l1  1 node   n4\n");
}

TEST(Outline, SaysWhatIsUnknown) {
  const auto placement = placement_of({"cluster", "block", "rack"},
                                      {{"n0", {"c", "b", "r"}},
                                       {"n1", {"c", "b", std::nullopt}},
                                       {"n2", {"c", std::nullopt, std::nullopt}},
                                       {"n3", {"c", std::nullopt, std::nullopt}},
                                       {"n4", {std::nullopt, std::nullopt, "r"}}},
                                      {"x1", "x2"});
  EXPECT_EQ(outline_text(placement),
            "cluster c         4 nodes\n"
            "  block b         2 nodes\n"
            "    rack r        1 node   n0\n"
            "    rack unknown  1 node   n1\n"
            "  block unknown   2 nodes  n[2-3]\n"
            "cluster unknown   1 node\n"
            "  block unknown   1 node\n"
            "    rack r        1 node   n4\n"
            "place unknown     2 nodes  x[1-2]\n");
}

TEST(Outline, FoldsManyAlike) {
  std::vector<std::pair<std::string, Path>> places;
  for (std::size_t i = 0; i < 40; ++i) {
    places.push_back({fmt::format("n{}", i), {"c", fmt::format("r{}", i / 2)}});
  }
  const auto alike = placement_of({"cluster", "rack"}, places);
  EXPECT_EQ(outline_text(alike),
            "cluster c       40 nodes\n"
            "  rack r[0-19]  40 nodes  20 × 2\n");
  EXPECT_EQ(std::ranges::count(outline_text(alike, false), '\n'), 21);

  places.resize(39);
  EXPECT_EQ(outline_text(placement_of({"cluster", "rack"}, places)),
            "cluster c       39 nodes\n"
            "  rack r[0-19]  39 nodes  20 × 1 to 2\n");
  places.resize(2 * max_siblings);
  EXPECT_EQ(std::ranges::count(outline_text(placement_of({"cluster", "rack"}, places)), '\n'),
            static_cast<std::ptrdiff_t>(1 + max_siblings));
}

TEST(Outline, ShortensListsThatNoLineHolds) {
  std::vector<std::pair<std::string, Path>> places;
  for (std::size_t i = 0; i < 200; ++i) places.push_back({fmt::format("n{}", i * 2), {"r"}});
  const std::string text = outline_text(placement_of({"rack"}, places));
  EXPECT_LT(text.size(), 140u);
  EXPECT_TRUE(text.starts_with("rack r  200 nodes  n[0,2,4,")) << text;
  EXPECT_TRUE(text.ends_with(",…\n")) << text;
}

TEST(Outline, Json) {
  const auto placement =
      placement_of({"cluster", "rack"},
                   {{"n0", {"c", "b"}}, {"n1", {"c", std::nullopt}}, {"n2", {"c", "b"}}}, {"x"});
  const auto json = nlohmann::json::parse(outline_json(placement));
  EXPECT_EQ(json["schema"], "toprun.topo_show/1");
  EXPECT_EQ(json["levels"], nlohmann::json({"cluster", "rack"}));
  EXPECT_EQ(json["nodes"], 4);
  EXPECT_EQ(json["unplaced"], nlohmann::json({"x"}));
  EXPECT_EQ(json["domains"], nlohmann::json::parse(R"([
    {"level": "cluster", "name": "c", "nodes": 3, "domains": [
      {"level": "rack", "name": "b", "nodes": 2, "hosts": ["n0", "n2"]},
      {"level": "rack", "name": null, "nodes": 1, "hosts": ["n1"]}]}])"));
}

TEST(Outline, NothingKnown) {
  EXPECT_EQ(outline_text(placement_of({}, {}, {"a", "b1", "b2"})),
            "place unknown  3 nodes  a,b[1-2]\n");
  EXPECT_EQ(outline_text(placement_of({"rack"}, {})), "");
}

}  // namespace
}  // namespace toprun::report
