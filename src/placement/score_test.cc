#include "placement/score.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace toprun::placement {
namespace {

// Racks were filled by number, as n1 n2, n3 n10, n20 n21: strings are in another order.
Score sample() {
  const std::vector<std::pair<std::string, topology::Path>> places = {
      {"n1", {"c", "r1"}},  {"n2", {"c", "r1"}},  {"n3", {"c", "r2"}},
      {"n10", {"c", "r2"}}, {"n20", {"d", "r1"}}, {"n21", {"d", "r1"}}};
  topology::Map map{"test", {"cluster", "rack"}, {}, {}};
  for (const auto& [host, path] : places) map.hosts.push_back({host, {path, "here", {}}});
  return *score({{"n1", 1}, {"n3", 1}, {"n20", 1}, {"n2", 1}, {"n10", 1}, {"n21", 1}}, map);
}

TEST(Score, ComparesTheOrders) {
  EXPECT_EQ(score_text(sample()),
            "neighbours in another domain, of 6 in the ring\n"
            "order     cluster  rack\n"
            "given           4     6\n"
            "name            2     3\n"
            "torchrun        2     5\n"
            "topology        2     3\n"
            "minimum         2     3\n");
}

TEST(Score, Json) {
  const auto json = nlohmann::json::parse(score_json(sample()));
  EXPECT_EQ(json["schema"], "toprun.topo_score/1");
  EXPECT_EQ(json["source"], "test");
  EXPECT_EQ(json["levels"], nlohmann::json({"cluster", "rack"}));
  EXPECT_EQ(json["nodes"], 6);
  ASSERT_EQ(json["orders"].size(), 4u);
  EXPECT_EQ(
      json["orders"][3],
      nlohmann::json::parse(R"({"name": "topology", "crossings": {"cluster": 2, "rack": 3}})"));
  EXPECT_EQ(json["minimum"], nlohmann::json::parse(R"({"cluster": 2, "rack": 3})"));
  EXPECT_EQ(json["ring"][1],
            nlohmann::json({{"level", "rack"}, {"given", 6}, {"ordered", 3}, {"minimum", 3}}));
}

TEST(Score, WithoutEvidenceThereIsNothingToCompare) {
  const auto nothing = *score({{"a", 1}, {"b", 1}}, {});
  EXPECT_EQ(score_text(nothing), "");
  EXPECT_EQ(nlohmann::json::parse(score_json(nothing))["minimum"], nlohmann::json::object());
}

TEST(Score, NamesHostsWithoutAPlace) {
  const topology::Map map{"test", {"rack"}, {{"a", {{"r"}, "here", {}}}}, {}};
  const auto partly = *score({{"x", 1}, {"a", 1}}, map);
  EXPECT_EQ(partly.unplaced, std::vector<std::string>{"x"});
  ASSERT_EQ(partly.warnings.size(), 1u);
  EXPECT_NE(partly.warnings[0].find("where x is"), std::string::npos);
}

}  // namespace
}  // namespace toprun::placement
