#include "decide/placement/segments.h"

#include <gtest/gtest.h>

#include <map>
#include <random>

#include "decide/placement/order.h"
#include "decide/placement/placement_testing.h"

namespace toprun::placement {
namespace {

using Names = std::vector<std::string>;
using topology::Path;

struct SegmentedJob {
  std::vector<Host> hosts;
  topology::Map map{"test", {"block", "rack"}, {}, {}};

  void add(const std::string& name, const Path& path) {
    hosts.push_back({name, 1});
    map.hosts.push_back({name, {path, "here", {}}});
  }
};

TEST(Segments, RestsOfRacksMeetInTheirBlock) {
  SegmentedJob job;
  for (const char* name : {"a1", "a2", "a3"}) job.add(name, {"x", "ra"});
  for (const char* name : {"b1", "b2", "b3"}) job.add(name, {"x", "rb"});
  for (const char* name : {"c1", "c2", "c3"}) job.add(name, {"y", "rc"});
  const auto plain = place(job.hosts, job.map);
  EXPECT_EQ(names_in_order(*plain), (Names{"a1", "a2", "a3", "b1", "b2", "b3", "c1", "c2", "c3"}));
  const auto pairs = place(job.hosts, job.map, {.segment = 2});
  EXPECT_EQ(names_in_order(*pairs), (Names{"a1", "a2", "b1", "b2", "a3", "b3", "c1", "c2", "c3"}));
  EXPECT_EQ(pairs->warnings,
            Names{"2 of 9 nodes are in segments of 2 that no single rack holds: a3,b3"});
  const auto threes = place(job.hosts, job.map, {.segment = 3});
  EXPECT_EQ(names_in_order(*threes), names_in_order(*plain));
  EXPECT_TRUE(threes->warnings.empty());
}

TEST(Segments, NodesOfUnknownRacksFillNoRacksSegment) {
  SegmentedJob job;
  job.add("a1", {"x", "ra"});
  job.add("u1", {"x", std::nullopt});
  job.add("u2", {"x", std::nullopt});
  job.add("a2", {"x", "ra"});
  job.hosts.push_back({"z", 1});
  const auto placement = place(job.hosts, job.map, {.segment = 2});
  EXPECT_EQ(names_in_order(*placement), (Names{"a1", "a2", "u1", "u2", "z"}));
  ASSERT_EQ(placement->warnings.size(), 2u);
  EXPECT_EQ(placement->warnings[1],
            "2 of 5 nodes are in segments of 2 that no single rack holds: u[1-2]");
}

// A domain of n nodes can contain at most ⌊n / size⌋ segments, and it contains that many.
TEST(Segments, EveryDomainHoldsAsManyAsThereCanBe) {
  std::mt19937 random(3);
  for (int round = 0; round < 500; ++round) {
    SegmentedJob job;
    const std::size_t size = 2 + random() % 5;
    const std::size_t count = 1 + random() % 60;
    for (std::size_t i = 0; i < count; ++i) {
      Path path;
      for (int level = 0; level < 2; ++level) {
        const auto pick = random() % 5;
        path.push_back(pick == 4 ? std::nullopt : std::optional(fmt::format("d{}", pick)));
      }
      job.add(fmt::format("n{}", i), path);
    }
    const auto placement = place(job.hosts, job.map, {.segment = size});
    ASSERT_TRUE(placement);
    for (std::size_t depth = 1; depth <= 2; ++depth) {
      const auto domain_of = [&](const Node& node) {
        const Path& path = job.map.hosts[node.index].location.path;
        return Path(path.begin(), path.begin() + static_cast<std::ptrdiff_t>(depth));
      };
      std::map<Path, std::size_t> nodes_in;
      std::map<Path, std::size_t> segments_in;
      for (const Node& node : placement->nodes) {
        if (domain_of(node).back()) ++nodes_in[domain_of(node)];
      }
      for (std::size_t first = 0; first + size <= count; first += size) {
        const Path domain = domain_of(placement->nodes[first]);
        bool whole = domain.back().has_value();
        for (std::size_t i = 1; i < size; ++i) {
          whole = whole && domain_of(placement->nodes[first + i]) == domain;
        }
        if (whole) ++segments_in[domain];
      }
      for (const auto& [domain, nodes] : nodes_in) {
        EXPECT_EQ(segments_in[domain], nodes / size) << "round " << round;
      }
    }
  }
}

}  // namespace
}  // namespace toprun::placement
