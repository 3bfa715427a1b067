#include "observe/report/explain.h"

#include <gtest/gtest.h>

#include "base/text/text.h"

namespace toprun::report {
namespace {

using topology::Path;
using HostPaths = std::vector<std::pair<std::string, Path>>;

placement::Placement placed(const std::vector<std::string>& levels, const HostPaths& places,
                            const std::vector<std::string>& others = {}, std::size_t segment = 1) {
  topology::Map map{"file racks.txt", levels, {}, {}};
  std::vector<placement::Host> hosts;
  for (const auto& [host, path] : places) {
    hosts.push_back({host, 8});
    map.hosts.push_back({host, {path, fmt::format("racks.txt:{}", hosts.size()), {}}});
  }
  for (const std::string& host : others) hosts.push_back({host, 8});
  if (levels.empty()) map.source.clear();
  return *place(hosts, map, {.segment = segment});
}

const HostPaths two_racks = {
    {"n0", {"c", "rackB"}}, {"n1", {"c", "rackA"}}, {"n2", {"c", "rackB"}}, {"n3", {"d", "rackA"}}};

TEST(Explain, SaysWhyEachNodeIsWhereItIs) {
  placement::Placement placement = placed({"cluster", "rack"}, two_racks, {"x"});
  explain(placement, {.topology = "racks.txt"});
  EXPECT_EQ(
      explanation_text(placement),
      "file racks.txt says where the nodes are; it is the source that --topology names; evidence: "
      "racks.txt (4 nodes)\ndomains are sorted naturally by name, and so are the nodes inside each "
      "innermost domain\ncluster: left 3 times as given, 3 as ordered; each of the 3 has to be "
      "left once, so no order is better\nrack: left 5 times as given, 4 as ordered; each of the 4 "
      "has to be left once, so no order is better\nthe position of x is not known: placed last, in "
      "the order "
      "given\nn1 is 1st of 5 (ranks 0-7): rack rackA of cluster c, by racks.txt:2; alone in its "
      "rack, first by name; its neighbours are x (unknown cluster) and n0 (another rack)\nn0 is "
      "2nd of 5 (ranks 8-15): rack rackB of cluster c, by racks.txt:1; rackB's 2 nodes stand "
      "together, after rack rackA by name; its neighbours are n1 (another rack) and n2 (same "
      "rack)\nn2 is 3rd of 5 (ranks 16-23): rack rackB of cluster c, by racks.txt:3; rackB's 2 "
      "nodes stand together, after rack rackA by name; its neighbours are n0 (same rack) and n3 "
      "(another cluster)\nn3 is 4th of 5 (ranks 24-31): rack rackA of cluster d, by racks.txt:4; "
      "alone in its rack, after cluster c by name; its neighbours are n2 (another cluster) and x "
      "(unknown cluster)\nx is 5th of 5 (ranks 32-39): its place is not known, so it comes after "
      "the nodes with a known place, in the given order; its neighbours are n3 (unknown cluster) "
      "and n1 (unknown cluster)\n");
}

TEST(Explain, OneNodeOnly) {
  placement::Placement placement = placed({"cluster", "rack"}, two_racks);
  explain(placement, {.topology = "auto", .node = 1});
  EXPECT_EQ(placement.node_explanations[0], "");
  EXPECT_TRUE(placement.node_explanations[1].starts_with("n0 is 2nd of 4 (ranks 8-15): "));
  EXPECT_NE(placement.explanation[0].find("the first source in the order of --topology auto"),
            std::string::npos);
}

TEST(Explain, WhatIsKnownInPart) {
  placement::Placement placement =
      placed({"block", "rack"}, {{"n0", {"b", std::nullopt}}, {"n1", {std::nullopt, "r"}}});
  explain(placement, {});
  const std::string text = explanation_text(placement);
  EXPECT_NE(text.find("rack: not known for n0: it counts as a domain of its own"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("block: not known for n1: it counts as a domain of its own"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("n0 is 1st of 2 (ranks 0-7): rack unknown of block b, no more is known"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("; its neighbour is n1 (unknown block)\n"), std::string::npos) << text;
}

TEST(Explain, NothingKnown) {
  placement::Placement placement = placed({}, {}, {"n0", "n1"});
  explain(placement, {});
  EXPECT_EQ(explanation_text(placement),
            "no source knows the position of any node, so the nodes keep the order in which they "
            "were given\nn0 is 1st of 2 (ranks 0-7): its place is not known, so it keeps its given "
            "position; its neighbour is n1\nn1 is 2nd of 2 (ranks 8-15): its place is not known, "
            "so it keeps its given position; its neighbour is n0\n");
}

TEST(Explain, BrokenSegments) {
  HostPaths places;
  for (int i = 0; i < 6; ++i) {
    places.push_back({fmt::format("n{}", i), {i < 3 ? "a" : "b"}});
  }
  placement::Placement placement = placed({"rack"}, places, {}, 2);
  explain(placement, {.segment = 2});
  const std::string text = explanation_text(placement);
  EXPECT_NE(text.find("rack: left 2 times as given, 4 as ordered; without --segment, 2 would be "
                      "enough\nsegments of 2: 2 of 3 are inside one rack; segments that are not "
                      "inside one: n[2,5]\n"),
            std::string::npos)
      << text;
  EXPECT_NE(
      text.find("1 of a's 3 nodes stands here; the others are elsewhere to complete segments"),
      std::string::npos)
      << text;
}

TEST(Explain, LargeJobsByDomain) {
  const struct {
    std::size_t nodes, racks, lines;
    std::string first;
  } rows[] = {
      {max_explained_nodes, 2, 4 + max_explained_nodes, "n0 is 1st of 128 (ranks 0-7): rack r0"},
      {1'000, 50, 4 + 50, "ranks 0-159: rack r0 of cluster c, 20 nodes (n[0,50,"},
      {1'000, 500, 4 + 1, "ranks 0-7999: cluster c, 1000 nodes (n[0,500,1,501,"},
  };
  for (const auto& [nodes, racks, lines, first] : rows) {
    HostPaths places;
    for (std::size_t i = 0; i < nodes; ++i) {
      places.push_back({fmt::format("n{}", i), {"c", fmt::format("r{}", i % racks)}});
    }
    placement::Placement placement = placed({"cluster", "rack"}, places);
    explain(placement, {});
    const std::string text = explanation_text(placement);
    EXPECT_EQ(std::ranges::count(text, '\n'), static_cast<std::ptrdiff_t>(lines));
    EXPECT_NE(text.find('\n' + first), std::string::npos) << text.substr(0, 1'000);
  }
}

TEST(Explain, NamesStayOnOneLine) {
  placement::Placement placement = placed({"rack"}, {{"n\n0", {"r\x1b[1m"}}});
  explain(placement, {});
  const std::string text = explanation_text(placement);
  EXPECT_NE(text.find("n\\n0 is 1st of 1"), std::string::npos) << text;
  EXPECT_EQ(text.find('\x1b'), std::string::npos);
}

}  // namespace
}  // namespace toprun::report
