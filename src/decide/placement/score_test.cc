#include "decide/placement/score.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace toprun::placement {
namespace {

// The racks contain n1 n2, n3 n10, n20 n21, by number; the order as strings differs.
const std::vector<Host> hosts = {{"n1", 1}, {"n3", 1},  {"n20", 1},
                                 {"n2", 1}, {"n10", 1}, {"n21", 1}};

topology::Map sample_map() {
  const std::vector<std::pair<std::string, topology::Path>> places = {
      {"n1", {"c", "r1"}},  {"n2", {"c", "r1"}},  {"n3", {"c", "r2"}},
      {"n10", {"c", "r2"}}, {"n20", {"d", "r1"}}, {"n21", {"d", "r1"}}};
  topology::Map map{"test", {"cluster", "rack"}, {}, {}};
  for (const auto& [host, path] : places) map.hosts.push_back({host, {path, "here", {}}});
  return map;
}

Terms terms(const topology::Map& map, const cost::LinksByLevel& reported = {}) {
  return {*cost::links_of(map, reported, 1), 6 << 20, {}};
}

// Racks of 100 Mbit/s: an edge of the ring carries 10 MiB, 0.839 s.
Score sample() {
  const topology::Map map = sample_map();
  return *score(hosts, map, terms(map, {{"rack", {0.1, {}}}}));
}

TEST(Score, ComparesTheOrders) {
  EXPECT_EQ(score_text(sample()),
            "neighbours in another domain, of 6 in the ring\n"
            "order     cluster  rack\n"
            "given           4     6\n"
            "name            2     3\n"
            "torchrun        2     5\n"
            "topology        2     3\n"
            "minimum         2     3\n"
            "\n"
            "6 MiB per node        time   ratio  busiest link, each way\n"
            "ring all-reduce\n"
            "  given            1678 ms    2.00  rack r1: 2 flows, 20 MiB\n"
            "  name              839 ms    1.00  rack r1: 1 flow, 10 MiB\n"
            "  torchrun         1678 ms    2.00  rack r1: 2 flows, 20 MiB\n"
            "  topology          839 ms    1.00  rack r1: 1 flow, 10 MiB\n"
            "  bound             839 ms    1.00\n"
            "tree all-reduce\n"
            "  given             2.01 s    2.00  rack r2: 8 flows, 24 MiB\n"
            "  name              1.01 s    1.00  rack r1: 4 flows, 12 MiB\n"
            "  torchrun          1.51 s    1.50  rack r1: 6 flows, 18 MiB\n"
            "  topology          1.01 s    1.00  rack r1: 4 flows, 12 MiB\n"
            "  bound             1.01 s    1.00\n"
            "all-to-all\n"
            "  any order         671 ms    1.00  rack r1: 8 flows, 8 MiB\n"
            "ratio: the time divided by the bound, which no order can beat\n");
}

TEST(Score, AnOrderOfTheUsersIsOneMore) {
  const topology::Map map = sample_map();
  Terms with_file = terms(map);
  with_file.listed = {"order.txt", "n1 n3 n2 n10 n[20-21]"};
  const auto scored = score(hosts, map, with_file);
  ASSERT_TRUE(scored) << scored.error().line();
  ASSERT_EQ(scored->orders.size(), 5u);
  EXPECT_EQ(scored->orders[4].name, "file");
  EXPECT_EQ(scored->orders[4].crossings, (std::vector<std::size_t>{2, 5}));
  EXPECT_EQ(nlohmann::json::parse(score_json(*scored))["ring"][1]["ordered"], 3);
  with_file.listed->text = "n1";
  EXPECT_EQ(score(hosts, map, with_file).error().line(),
            "order.txt lacks 5 of the job's hosts: n[3,20,2,10,21]; add these hosts to the order");
}

TEST(Score, NodesWithoutProcessesCarryNothing) {
  const topology::Map map = sample_map();
  auto some = hosts;
  for (Host& host : some) host.nproc = host.name == "n1" || host.name == "n2" ? 1 : 0;
  const auto scored = score(some, map, terms(map, {{"rack", {0.1, {}}}}));
  for (const Scored& order : scored->orders) {
    EXPECT_EQ(order.priced[0].worst->level, "host") << order.name;
    EXPECT_EQ(order.priced[0].worst->bytes, 6 << 20) << order.name;
  }
}

TEST(Score, Json) {
  const auto json = nlohmann::json::parse(score_json(sample()));
  EXPECT_EQ(json["schema"], "toprun.topo_score/1");
  EXPECT_EQ(json["source"], "test");
  EXPECT_EQ(json["levels"], nlohmann::json({"cluster", "rack"}));
  EXPECT_EQ(json["nodes"], 6);
  EXPECT_EQ(json["bytes"], 6 << 20);
  EXPECT_EQ(json["links"],
            nlohmann::json::parse(
                R"([{"level": "cluster", "gbps": null, "latency_us": 1, "assumed": true},
              {"level": "rack", "gbps": 0.1, "latency_us": 1, "assumed": false},
              {"level": "host", "gbps": 400, "latency_us": 5, "assumed": true}])"));
  ASSERT_EQ(json["orders"].size(), 4u);
  EXPECT_EQ(json["orders"][3]["name"], "topology");
  EXPECT_EQ(json["orders"][3]["crossings"], nlohmann::json::parse(R"({"cluster": 2, "rack": 3})"));
  EXPECT_EQ(json["orders"][0]["cost"]["ring"], nlohmann::json::parse(R"({
      "seconds": 1.6777916, "ratio": 1.99991656, "worst":
      {"level": "rack", "name": "r1", "flows": 2, "bytes": 20971520, "seconds": 1.6777216}})"));
  EXPECT_EQ(json["orders"][0]["cost"]["all_to_all"]["worst"]["flows"], 8);
  EXPECT_EQ(json["minimum"], nlohmann::json::parse(R"({"cluster": 2, "rack": 3})"));
  EXPECT_EQ(json["least"]["ring"], 0.8389308);
  EXPECT_EQ(json["ring"][1],
            nlohmann::json({{"level", "rack"}, {"given", 6}, {"ordered", 3}, {"minimum", 3}}));
}

TEST(Score, KnowsWhetherAnybodyToldALinksFigure) {
  const topology::Map map = sample_map();
  EXPECT_TRUE(all_links_assumed(*cost::links_of(map, {}, 1)));
  EXPECT_FALSE(all_links_assumed(*cost::links_of(map, {{"cluster", {1.0, {}}}}, 1)));
  EXPECT_FALSE(all_links_assumed(*cost::links_of(map, {{"host", {1.0, {}}}}, 1)));
}

TEST(Score, WithoutEvidenceThereIsNothingToCompare) {
  const auto nothing = *score({{"a", 1}, {"b", 1}}, {}, terms({}));
  EXPECT_EQ(score_text(nothing), "");
  EXPECT_EQ(nlohmann::json::parse(score_json(nothing))["minimum"], nlohmann::json::object());
}

TEST(Score, NamesHostsWithoutAPlace) {
  const topology::Map map{"test", {"rack"}, {{"a", {{"r"}, "here", {}}}}, {}};
  const auto partly = *score({{"x", 1}, {"a", 1}}, map, terms(map));
  EXPECT_EQ(partly.unplaced, std::vector<std::string>{"x"});
  ASSERT_EQ(partly.warnings.size(), 1u);
  EXPECT_NE(partly.warnings[0].find("where x is"), std::string::npos);
}

}  // namespace
}  // namespace toprun::placement
