#include <gtest/gtest.h>

#include <bit>
#include <random>
#include <set>

#include "decide/placement/order.h"
#include "decide/placement/segments.h"

namespace toprun::placement {
namespace {

using Names = std::vector<std::string>;
using topology::Path;

struct JobWithSpares {
  std::vector<Host> hosts;
  topology::Map map;

  explicit JobWithSpares(std::vector<std::string> levels) {
    map.source = "test";
    map.levels = std::move(levels);
  }
  void add(const std::string& name, const Path& path) {
    hosts.push_back({name, 1});
    map.hosts.push_back({name, {path, "here", {}}});
  }
};

Names spare(const JobWithSpares& job, std::size_t nodes, std::size_t segment = 1) {
  const auto placed = place(job.hosts, job.map, {.segment = segment, .nodes = nodes});
  return placed ? placed->spare : Names{placed.error().line()};
}

TEST(Spares, AreTheSmallestRacksFirst) {
  JobWithSpares job({"spine", "rack"});
  for (const char* name : {"a0", "a1", "a2", "a3"}) job.add(name, {"s0", "ra"});
  for (const char* name : {"b0", "b1", "b2"}) job.add(name, {"s0", "rb"});
  for (const char* name : {"c0", "c1"}) job.add(name, {"s1", "rc"});
  job.add("d0", {"s1", "rd"});
  EXPECT_EQ(spare(job, 10), Names{});
  EXPECT_EQ(spare(job, 9), Names{"d0"});
  EXPECT_EQ(spare(job, 8), (Names{"c1", "d0"}));
  EXPECT_EQ(spare(job, 7), (Names{"c0", "c1", "d0"}));
  EXPECT_EQ(spare(job, 5), (Names{"b1", "b2", "c0", "c1", "d0"}));
  EXPECT_EQ(spare(job, 3), (Names{"a3", "b0", "b1", "b2", "c0", "c1", "d0"}));
  EXPECT_EQ(spare(job, 11),
            Names{"11 nodes are requested: only 10 nodes are available; request fewer "
                  "nodes, or list more hosts"});
}

TEST(Spares, AreWhatFillsNoSegment) {
  JobWithSpares job({"rack"});
  for (const char* name : {"a0", "a1", "a2", "a3", "a4"}) job.add(name, {"ra"});
  for (const char* name : {"b0", "b1", "b2", "b3"}) job.add(name, {"rb"});
  for (const char* name : {"c0", "c1", "c2"}) job.add(name, {"rc"});
  EXPECT_EQ(spare(job, 10, 2), (Names{"a4", "c2"}));
  EXPECT_EQ(spare(job, 8, 4), (Names{"a4", "c0", "c1", "c2"}));
}

TEST(Spares, AreNodesOfUnknownPlacesFirst) {
  JobWithSpares job({"rack"});
  job.hosts.push_back({"lost", 1});
  job.add("a0", {"ra"});
  job.add("a1", {"ra"});
  job.add("b0", {"rb"});
  EXPECT_EQ(spare(job, 3), Names{"lost"});
  EXPECT_EQ(spare(job, 2), (Names{"lost", "b0"}));
}

// The number of nodes outside whole segments, then of used domains at each level, outermost first.
std::vector<std::size_t> cost_of(const cost::Domains& domains, const std::vector<std::size_t>& kept,
                                 std::size_t segment) {
  std::vector<std::size_t> cost(1);
  std::map<std::vector<std::uint32_t>, std::size_t> used;
  std::vector<std::size_t> of_level(domains.levels());
  for (const std::size_t node : kept) {
    std::vector<std::uint32_t> path;
    for (std::size_t level = 0; level < domains.levels(); ++level) {
      path.push_back(domains.domain(node, level));
      if (used[path]++ == 0) ++of_level[level];
    }
  }
  for (const auto& [path, nodes] : used) {
    if (path.size() == domains.levels()) cost[0] += nodes % segment;
  }
  cost.insert(cost.end(), of_level.begin(), of_level.end());
  return cost;
}

bool has_all(const std::vector<std::size_t>& kept, const std::unordered_set<std::size_t>& fixed) {
  return std::ranges::all_of(
      fixed, [&](std::size_t node) { return std::ranges::find(kept, node) != kept.end(); });
}

TEST(Spares, NoOtherChoiceIsCheaper) {
  std::mt19937 random(2026);
  for (int round = 0; round < 2'000; ++round) {
    const std::size_t count = 1 + random() % 9;
    const std::size_t levels = 1 + random() % 3;
    const std::size_t segment = 1 + random() % 3;
    std::vector<Path> paths(count);
    for (Path& path : paths) {
      for (std::size_t level = 0; level < levels; ++level) {
        path.push_back(random() % 8 == 0 ? std::nullopt
                                         : std::optional(fmt::format("d{}", random() % 3)));
      }
    }
    std::ranges::sort(paths);
    std::vector<const Path*> pointers;
    std::vector<std::size_t> sorted;
    for (const Path& path : paths) {
      sorted.push_back(pointers.size());
      pointers.push_back(&path);
    }
    const cost::Domains domains(pointers, levels);
    const std::size_t keep = 1 + random() % count;
    std::unordered_set<std::size_t> fixed;
    for (std::size_t i = random() % 3; i < keep && fixed.size() < keep; i += 1 + random() % 4) {
      fixed.insert(random() % count);
    }
    std::vector<std::size_t> best;
    for (std::size_t set = 0; set < std::size_t{1} << count; ++set) {
      if (static_cast<std::size_t>(std::popcount(set)) != keep) continue;
      std::vector<std::size_t> kept;
      for (std::size_t i = 0; i < count; ++i) {
        if (set >> i & 1) kept.push_back(i);
      }
      if (!has_all(kept, fixed)) continue;
      const auto cost = cost_of(domains, kept, segment);
      if (best.empty() || cost < best) best = cost;
    }
    const auto kept = without_spares(sorted, domains, keep, segment, fixed);
    ASSERT_EQ(kept.size(), keep);
    ASSERT_TRUE(has_all(kept, fixed)) << "round " << round;
    ASSERT_EQ(cost_of(domains, kept, segment), best) << "round " << round;
  }
}

TEST(Spares, ManyAreFoundInLittleWork) {
  JobWithSpares job({"zone", "rack"});
  for (int i = 0; i < 20'000; ++i) {
    job.add(fmt::format("n{}", i), {fmt::format("z{}", i / 5'000), fmt::format("r{}", i / 16)});
  }
  const auto placed = place(job.hosts, job.map, {.nodes = 9'990});
  ASSERT_TRUE(placed.has_value());
  EXPECT_EQ(placed->nodes.size(), 9'990u);
  EXPECT_EQ(placed->ring[0].minimum, 2u);
}

}  // namespace
}  // namespace toprun::placement
