#include "observe/picture/sketch.h"

#include <gtest/gtest.h>

namespace toprun::picture {
namespace {

using topology::Path;
using Places = std::vector<std::pair<std::string, Path>>;

Sketch sketch_of(const std::vector<std::string>& levels, const Places& places,
                 const std::vector<std::string>& others = {},
                 placement::Order order = placement::Order::topology) {
  topology::Map map{"test", levels, {}, {}};
  std::vector<placement::Host> hosts;
  for (const auto& [host, path] : places) {
    hosts.push_back({host, 2});
    map.hosts.push_back({host, {path, "here", {}}});
  }
  for (const std::string& host : others) hosts.push_back({host, 2});
  return sketch(*place(hosts, map), *place(hosts, map, {.order = order}));
}

// "(a: n0 n1) (b: n2)"; "?" is an unknown name; units without a frame have no parentheses.
std::string text_of(const Sketch& sketch, const Frame& frame) {
  std::vector<std::string> parts;
  for (std::size_t i = frame.first; i < frame.first + frame.own; ++i) {
    const Unit& unit = sketch.units[i];
    parts.push_back(unit.hosts.empty()
                        ? unit.name
                        : fmt::format("{}={}/{}", unit.name, unit.hosts, unit.domains));
  }
  for (const Frame& inside : frame.inside) {
    parts.push_back(fmt::format("({}: {})", inside.name.value_or("?"), text_of(sketch, inside)));
  }
  return fmt::format("{}", fmt::join(parts, " "));
}

std::string boxes(const Sketch& sketch) {
  return text_of(sketch, sketch.whole);
}

// "0>1:0" crosses level 0, "0>1:-" none, "0>1:0?" an unknown domain; "x3" is the count.
std::string steps(const Sketch& sketch) {
  std::vector<std::string> parts;
  for (const Step& step : sketch.steps) {
    parts.push_back(fmt::format(
        "{}>{}:{}{}{}", step.from, step.to, step.crosses ? fmt::format("{}", *step.crosses) : "-",
        step.unknown ? "?" : "", step.count > 1 ? fmt::format("x{}", step.count) : ""));
  }
  return fmt::format("{}", fmt::join(parts, " "));
}

// "2-3 10-11", and the number of ranges if the list is incomplete.
std::string ranks(const Unit& unit) {
  std::vector<std::string> parts;
  for (const Run& run : unit.ranks) {
    parts.push_back(fmt::format("{}-{}", run.first, run.first + run.count - 1));
  }
  const std::string text = fmt::format("{}", fmt::join(parts, " "));
  return unit.runs == parts.size() ? text : fmt::format("{} of {}", text, unit.runs);
}

Places interleaved(std::size_t nodes, std::size_t racks) {
  Places places;
  for (std::size_t i = 0; i < nodes; ++i) {
    places.push_back({fmt::format("n{}", i), {"c", fmt::format("r{}", i % racks)}});
  }
  return places;
}

TEST(Sketch, BoxesStandByTopologyWhateverOrderIsDrawn) {
  const auto levels = std::vector<std::string>{"cluster", "rack"};
  const Sketch ordered = sketch_of(levels, interleaved(4, 2));
  EXPECT_EQ(boxes(ordered), "(c: (r0: n0 n2) (r1: n1 n3))");
  EXPECT_EQ(steps(ordered), "0>1:- 1>2:1 2>3:- 3>0:1");
  const Sketch given = sketch_of(levels, interleaved(4, 2), {}, placement::Order::given);
  EXPECT_EQ(boxes(given), boxes(ordered));
  EXPECT_EQ(steps(given), "0>2:1 2>1:1 1>3:1 3>0:1");
  EXPECT_EQ(ranks(given.units[2]), "2-3");
  EXPECT_EQ(given.start, 0u);
}

TEST(Sketch, TheOutermostCrossingWinsAndUnknownIsMarked) {
  const Sketch sketch =
      sketch_of({"cluster", "rack"},
                {{"n0", {"a", "r"}}, {"n1", {"a", std::nullopt}}, {"n2", {"b", "r"}}}, {"x"});
  EXPECT_EQ(boxes(sketch), "(a: (r: n0) (?: n1)) (b: (r: n2)) (?: x)");
  EXPECT_EQ(steps(sketch), "0>1:1? 1>2:0 2>3:0? 3>0:0?");
  EXPECT_TRUE(sketch.units[1].unknown);
  EXPECT_FALSE(sketch.units[2].unknown);
  EXPECT_TRUE(sketch.units[3].unknown);
}

TEST(Sketch, SmallRings) {
  EXPECT_EQ(steps(sketch_of({"rack"}, {{"n0", {"r"}}})), "");
  EXPECT_EQ(steps(sketch_of({"rack"}, {{"n0", {"r"}}, {"n1", {"r"}}})), "0>1:- 1>0:-");
  const Sketch unknown = sketch_of({}, {}, {"a", "b"});
  EXPECT_EQ(boxes(unknown), "(?: a b)");
  EXPECT_EQ(steps(unknown), "0>1:- 1>0:-");
}

TEST(Sketch, FoldsRacksIntoBoxesOfOneEach) {
  const Sketch sketch = sketch_of({"cluster", "rack"}, interleaved(4'000, 250));
  EXPECT_EQ(sketch.units.size(), 250u);
  EXPECT_EQ(sketch.units[1].name, "r1");
  EXPECT_EQ(sketch.units[1].nodes, 16u);
  EXPECT_TRUE(sketch.units[1].hosts.starts_with("n[1,251,")) << sketch.units[1].hosts;
  EXPECT_EQ(sketch.steps.size(), 250u);
  EXPECT_EQ(sketch.steps_inside, 3'750u);
  ASSERT_EQ(sketch.whole.inside.size(), 1u);
  EXPECT_EQ(sketch.whole.inside[0].own, 250u);
}

TEST(Sketch, AnInnermostDomainIsABoxAsSoonAsNodesAreMany) {
  const struct {
    std::size_t nodes, racks;
    std::string first;  // unit
    std::size_t units;
  } rows[] = {
      {max_single_nodes, 20, "n0", max_single_nodes},
      {max_single_nodes + 1, 20, "r0", 20},
      {500, 2, "r0", 2},
      {8'000, max_units, "r0", max_units},
      {8'000, 1'000, "r[0-3]", 250},  // units of clusters would give only one
  };
  for (const auto& [nodes, racks, first, units] : rows) {
    const Sketch sketch = sketch_of({"cluster", "rack"}, interleaved(nodes, racks));
    EXPECT_EQ(sketch.units[0].name, first);
    EXPECT_EQ(sketch.units.size(), units);
    std::size_t all = 0;
    for (const Unit& unit : sketch.units) all += unit.nodes;
    EXPECT_EQ(all, nodes);
  }
}

TEST(Sketch, FoldsTheDomainsAroundWhereTheInnermostAreTooMany) {
  Places places;
  for (std::size_t i = 0; i < 4'000; ++i) {
    places.push_back(
        {fmt::format("n{}", i), {fmt::format("pod{}", i / 50), fmt::format("leaf{}", i / 5)}});
  }
  const Sketch sketch = sketch_of({"pod", "leaf"}, places);
  EXPECT_EQ(sketch.units.size(), 80u);
  EXPECT_EQ(sketch.units[0].name, "pod0");
}

TEST(Sketch, EveryBoxTellsItsRanks) {
  const Sketch ordered = sketch_of({"cluster", "rack"}, interleaved(400, 4));
  EXPECT_EQ(ranks(ordered.units[1]), "200-399");
  const Sketch given =
      sketch_of({"cluster", "rack"}, interleaved(400, 4), {}, placement::Order::given);
  EXPECT_EQ(ranks(given.units[1]), "2-3 10-11 18-19 26-27 of 100");
}

TEST(Sketch, CountsWhatLeavesEachBox) {
  const auto levels = std::vector<std::string>{"cluster", "rack"};
  const auto leaving = [](const Sketch& sketch) {
    std::vector<std::size_t> counts;
    for (const Frame& rack : sketch.whole.inside[0].inside) counts.push_back(rack.leaving);
    return counts;
  };
  EXPECT_EQ(leaving(sketch_of(levels, interleaved(12, 2))), (std::vector<std::size_t>{1, 1}));
  EXPECT_EQ(leaving(sketch_of(levels, interleaved(12, 2), {}, placement::Order::given)),
            (std::vector<std::size_t>{6, 6}));
  const Sketch folded = sketch_of(levels, interleaved(400, 4), {}, placement::Order::given);
  EXPECT_EQ(folded.units[3].leaving, 100u);
  EXPECT_EQ(folded.whole.inside[0].leaving, 0u);
}

TEST(Sketch, FoldsWhatIsUnknownApart) {
  Places places = interleaved(1'000, 50);
  places.push_back({"m0", {"c", std::nullopt}});
  places.push_back({"m1", {"c", std::nullopt}});
  const Sketch sketch = sketch_of({"cluster", "rack"}, places, std::vector<std::string>(40, "x"));
  EXPECT_EQ(sketch.units[50].name, "unknown");
  EXPECT_EQ(sketch.units[50].hosts, "m[0-1]");
  EXPECT_TRUE(sketch.units[50].unknown);
  EXPECT_EQ(sketch.whole.inside.back().own, 14u);  // with three nodes each
  EXPECT_FALSE(sketch.whole.inside.back().level);
}

// Neighbours on one leaf whose branch has no spine stay in their leaf.
TEST(Sketch, ABranchThatLacksALevel) {
  const auto none = topology::Domain::none();
  const Sketch sketch = sketch_of({"core", "spine", "leaf"}, {{"a1", {"root", "s1", "l1"}},
                                                              {"a2", {"root", "s1", "l2"}},
                                                              {"b1", {"root", none, "slim"}},
                                                              {"b2", {"root", none, "slim"}},
                                                              {"b3", {"root", none, "thin"}}});
  EXPECT_EQ(steps(sketch), "0>1:2 1>2:1 2>3:- 3>4:2 4>0:1");
}

}  // namespace
}  // namespace toprun::picture
