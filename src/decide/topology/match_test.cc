#include "decide/topology/match.h"

#include <gtest/gtest.h>

namespace toprun::topology {
namespace {

using Names = std::vector<std::string>;

TEST(Match, PairsEqualNamesThenShortOnes) {
  struct Row {
    Names requested, known;
    std::vector<int> expected;  // index of the known name; -1: none
    Names ambiguous;
  };
  const std::vector<Row> rows = {
      {{"n0", "n1"}, {"n1", "n0"}, {1, 0}, {}},
      {{"n0"}, {"n0.c.internal"}, {0}, {}},
      {{"n0.c.internal"}, {"n0"}, {0}, {}},
      {{"n0"}, {"n0.a", "n0.b"}, {-1}, {"n0"}},
      {{"n0.a", "n0.b"}, {"n0"}, {-1, -1}, {"n0.a", "n0.b"}},
      {{"n0.a"}, {"n0.b"}, {-1}, {}},
      {{"n0", "n0.a"}, {"n0.a"}, {-1, 0}, {"n0"}},
      {{"10.0.0.1"}, {"10.0.0.2", "10.0.0.1"}, {1}, {}},
      {{"10.0.0.3"}, {"10.0.0.2", "10.0.0.1"}, {-1}, {}},
      {{"n0", "n0"}, {"n0"}, {0, 0}, {}},
      {{"n0", "n0"}, {"n0.a"}, {0, 0}, {}},
      {{"n0"}, {}, {-1}, {}},
      {{"n0"}, {"N0"}, {0}, {}},
      {{"n0"}, {"N0.c.internal"}, {0}, {}},
      {{"N0.C"}, {"n0.c"}, {0}, {}},
      {{"n0"}, {"N0", "n0"}, {1}, {}},
      {{"nO"}, {"No", "NO"}, {-1}, {"nO"}},
      {{"n0.a"}, {"N0.b"}, {-1}, {}},
  };
  for (const Row& row : rows) {
    const Match match = match_hosts(row.requested, row.known);
    std::vector<int> found;
    for (const auto& index : match.known) found.push_back(index ? static_cast<int>(*index) : -1);
    EXPECT_EQ(found, row.expected) << row.requested[0];
    EXPECT_EQ(match.ambiguous, row.ambiguous) << row.requested[0];
  }
}

TEST(Match, WarnsOfTwins) {
  const auto warnings = [](const std::vector<std::string>& hosts) {
    Map map;
    for (const std::string& host : hosts) map.hosts.push_back({host, {{}, "t:" + host, {}}});
    warn_of_similar_names(map);
    return map.warnings;
  };
  EXPECT_EQ(warnings({"n0", "n1", "n10", "n2.a", "n2.b"}), Names{});
  EXPECT_EQ(warnings({"n0", "N0"}), Names{"n0 (t:n0) and N0 (t:N0) are perhaps the same host, but "
                                          "toprun counts them as two hosts"});
  EXPECT_EQ(warnings({"n0.c", "n1", "n0", "n1.c"}),
            Names{"n0.c (t:n0.c) and n0 (t:n0) are perhaps the same host, but toprun counts them "
                  "as two hosts (2 such "
                  "pairs)"});
}

TEST(Match, RestrictsAMapToTheJobsHostsAndNames) {
  const Map map{"file x",
                {"rack"},
                {{"n0.c", {{"a"}, "x:1", {}}},
                 {"n1", {{"b"}, "x:2", {}}},
                 {"n2.c", {{"c"}, "x:3", {}}},
                 {"n2.d", {{"d"}, "x:4", {}}}},
                {}};
  const Map mine = restrict_to(map, {"n1", "n0", "n0", "n2", "n9"});
  ASSERT_EQ(mine.hosts.size(), 2u);
  EXPECT_EQ(mine.hosts[0].host, "n1");
  EXPECT_EQ(mine.hosts[1].host, "n0");
  EXPECT_EQ(mine.hosts[1].location.evidence, "x:1");
  EXPECT_EQ(mine.warnings, Names{"file x: several hosts share the short name of n2; use the job's "
                                 "host names in that file"});
}

}  // namespace
}  // namespace toprun::topology
