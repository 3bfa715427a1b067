#include "observe/picture/ring_layout.h"

#include <gtest/gtest.h>

#include "observe/picture/ring_svg.h"

namespace toprun::picture {
namespace {

using placement::Host;
using placement::Order;
using topology::Path;

// A network with node i at `path_of(i)`.
template <class PathOf>
Sketch sketch_of(std::vector<std::string> levels, std::size_t nodes, PathOf path_of,
                 placement::Constraints constraints = {}, std::string_view prefix = "n") {
  topology::Map map{"test", std::move(levels), {}, {}};
  std::vector<Host> hosts;
  for (std::size_t i = 0; i < nodes; ++i) {
    hosts.push_back({fmt::format("{}{}", prefix, i), 8});
    map.hosts.push_back({hosts.back().name, {path_of(i), "here", {}}});
  }
  return sketch(*place(hosts, map), *place(hosts, map, constraints));
}

std::string number(std::string_view prefix, std::size_t i) {
  return fmt::format("{}{}", prefix, i);
}

Sketch racks(std::size_t nodes, std::size_t racks, Order order) {
  return sketch_of({"spine", "rack"}, nodes,
                   [&](std::size_t i) -> Path {
                     return {number("s", i % racks / 2), number("rack", i % racks)};
                   },
                   {.order = order});
}

struct Case {
  std::string name;
  Sketch sketch;
};

std::vector<Case> all_cases() {
  const auto three_levels = [](std::size_t i) -> Path {
    return {number("pod", i % 2), number("spine", i / 2 % 4), number("leaf", i / 8 % 4)};
  };
  const auto nvlink = [](std::size_t i) -> Path {
    return {number("s", i / 9 % 2), number("leaf", i / 9), number("nvl", i / 9)};
  };
  const auto partly = [](std::size_t i) -> Path {
    if (i % 5 == 0) return {"c", "b", std::nullopt};
    if (i % 5 == 1) return {"c", std::nullopt, std::nullopt};
    if (i % 5 == 2) return {std::nullopt, std::nullopt, "r"};
    if (i % 5 == 3) return {std::nullopt, std::nullopt, std::nullopt};
    return {"c", "b", "r"};
  };
  const auto deep = [](std::size_t i) {
    Path path;
    for (std::size_t level = 0; level < topology::max_levels; ++level) {
      path.push_back(number("d", level < 14 ? 0 : i >> (topology::max_levels - level)));
    }
    return path;
  };
  std::vector<std::string> deep_levels;
  for (std::size_t i = 0; i < topology::max_levels; ++i) deep_levels.push_back(number("level", i));
  const auto mixed = [](std::size_t i) { return i * 7919 % 4'000; };
  const std::string long_name(250, 'x');
  return {
      {"8 nodes", racks(8, 4, Order::topology)},
      {"8 nodes as given", racks(8, 4, Order::given)},
      {"64 nodes, 3 levels", sketch_of({"pod", "spine", "leaf"}, 64, three_levels)},
      {"64 nodes as torchrun",
       sketch_of({"pod", "spine", "leaf"}, 64, three_levels, {.order = Order::torchrun})},
      {"nvlink", sketch_of({"spine", "leaf", "nvlink"}, 36, nvlink, {.segment = 4})},
      {"partly unknown", sketch_of({"cluster", "block", "rack"}, 17, partly)},
      {"partly unknown, folded", sketch_of({"cluster", "block", "rack"}, 2'000, partly)},
      {"4,000 nodes", racks(4'000, 250, Order::topology)},
      {"4,000 nodes as given", racks(4'000, 250, Order::given)},
      {"4,000 nodes mixed",
       sketch_of({"rack"}, 4'000,
                 [&](std::size_t i) -> Path { return {number("r", mixed(i) * mixed(i) % 250)}; },
                 {.order = Order::given})},
      {"one node", racks(1, 1, Order::topology)},
      {"two nodes", racks(2, 2, Order::topology)},
      {"no topology", sketch_of({}, 12, [](std::size_t) { return Path(); })},
      {"no topology, folded", sketch_of({}, 5'000, [](std::size_t) { return Path(); })},
      {"long names", sketch_of(
                         {long_name, long_name}, 12,
                         [&](std::size_t i) -> Path {
                           return {long_name, number(long_name, i / 4)};
                         },
                         {}, long_name)},
      {"16 levels", sketch_of(deep_levels, 8, deep)},
  };
}

bool inside(const Rect& inner, const Rect& outer) {
  constexpr double least = 0.5;
  return inner.x >= outer.x - least && inner.y >= outer.y - least &&
         inner.right() <= outer.right() + least && inner.bottom() <= outer.bottom() + least;
}

bool overlap(const Rect& a, const Rect& b) {
  return a.x < b.right() && b.x < a.right() && a.y < b.bottom() && b.y < a.bottom();
}

// Whether the two lines overlap by more than one point between their ends.
bool share_a_stretch(const Line& a, const Line& b) {
  const auto stretch = [](Point from, Point to) {
    return Rect{std::min(from.x, to.x), std::min(from.y, to.y), std::abs(from.x - to.x),
                std::abs(from.y - to.y)};
  };
  for (std::size_t i = 2; i + 1 < a.points.size(); ++i) {
    const Rect one = stretch(a.points[i - 1], a.points[i]);
    for (std::size_t j = 2; j + 1 < b.points.size(); ++j) {
      const Rect other = stretch(b.points[j - 1], b.points[j]);
      const bool level = one.height == 0 && other.height == 0 && one.y == other.y &&
                         one.x < other.right() && other.x < one.right();
      const bool upright = one.width == 0 && other.width == 0 && one.x == other.x &&
                           one.y < other.bottom() && other.y < one.bottom();
      if (level || upright) return true;
    }
  }
  return false;
}

// Checks the frames inside `frame` and their content; `next` is the index of the first one in the
// layout.
void check_inside(const RingLayout& layout, const Frame& frame, const Rect& around,
                  std::size_t& next) {
  std::vector<Rect> side_by_side;
  for (std::size_t i = frame.first; i < frame.first + frame.own; ++i) {
    side_by_side.push_back(layout.units[i].box);
  }
  for (const Frame& inner : frame.inside) {
    const FrameBox& box = layout.frames[next++];
    EXPECT_TRUE(inside(bounds_of(box.title), box.box)) << box.title.text;
    side_by_side.push_back(box.box);
    check_inside(layout, inner, box.box, next);
  }
  for (std::size_t i = 0; i < side_by_side.size(); ++i) {
    EXPECT_TRUE(inside(side_by_side[i], around));
    for (std::size_t j = 0; j < i; ++j) {
      EXPECT_FALSE(overlap(side_by_side[i], side_by_side[j])) << i << " " << j;
    }
  }
}

TEST(RingLayout, BoxesAreInTheirDomainsAndApart) {
  for (const auto& [name, sketch] : all_cases()) {
    SCOPED_TRACE(name);
    const RingLayout layout = ring_layout(sketch, "topology order");
    std::size_t next = 0;
    check_inside(layout, sketch.whole, {0, 0, layout.width, layout.height}, next);
    EXPECT_EQ(next, layout.frames.size());
    EXPECT_EQ(layout.units.size(), sketch.units.size());
  }
}

TEST(RingLayout, AllTextAndLinesAreOnTheCanvas) {
  for (const auto& [name, sketch] : all_cases()) {
    SCOPED_TRACE(name);
    const RingLayout layout = ring_layout(sketch, "topology order");
    const Rect canvas{0, 0, layout.width, layout.height};
    for (const Text& text : layout.texts) EXPECT_TRUE(inside(bounds_of(text), canvas)) << text.text;
    for (const UnitBox& unit : layout.units) {
      for (const Text& text : unit.lines) {
        EXPECT_TRUE(inside(bounds_of(text), unit.box)) << text.text;
      }
    }
    for (const Line& line : layout.lines) {
      ASSERT_GE(line.points.size(), 2u);
      for (const Point& point : line.points) {
        EXPECT_TRUE(inside({point.x, point.y, 0, 0}, canvas)) << point.x << " " << point.y;
      }
    }
  }
}

TEST(RingLayout, NoLineCrossesABoxOrAText) {
  for (const auto& [name, sketch] : all_cases()) {
    SCOPED_TRACE(name);
    const RingLayout layout = ring_layout(sketch, "topology order");
    std::vector<Rect> taken;
    for (const UnitBox& unit : layout.units) taken.push_back(unit.box);
    for (const FrameBox& frame : layout.frames) taken.push_back(bounds_of(frame.title));
    for (const Text& text : layout.texts) taken.push_back(bounds_of(text));
    std::size_t crossed = 0;
    for (const Line& line : layout.lines) {
      for (std::size_t i = 1; i < line.points.size(); ++i) {
        const Point a = line.points[i - 1];
        const Point b = line.points[i];
        EXPECT_TRUE(a.x == b.x || a.y == b.y);
        const Rect way{std::min(a.x, b.x), std::min(a.y, b.y), std::abs(a.x - b.x),
                       std::abs(a.y - b.y)};
        crossed += static_cast<std::size_t>(
            std::ranges::count_if(taken, [&](const Rect& box) { return overlap(way, box); }));
      }
    }
    EXPECT_EQ(crossed, 0u);
  }
}

TEST(RingLayout, PicturesAreNoWiderThanAScreen) {
  for (const auto& [name, sketch] : all_cases()) {
    if (name == "long names") continue;
    EXPECT_LE(ring_layout(sketch, "topology order").width, most_picture_width) << name;
  }
}

TEST(RingLayout, AllStepsAreDrawnAloneOrInBundles) {
  for (const auto& [name, sketch] : all_cases()) {
    SCOPED_TRACE(name);
    std::size_t arrive = 0;
    std::size_t steps = 0;
    for (const Line& line : ring_layout(sketch, "").lines) arrive += line.arrow ? line.count : 0;
    for (const Step& step : sketch.steps) steps += step.count;
    EXPECT_EQ(arrive, steps);
  }
}

TEST(RingLayout, AFewLinesHaveALaneEach) {
  const RingLayout layout = ring_layout(racks(8, 4, Order::given), "the order given");
  EXPECT_EQ(layout.lines.size(), 8u);
  for (std::size_t i = 0; i < layout.lines.size(); ++i) {
    for (std::size_t j = 0; j < i; ++j) {
      EXPECT_FALSE(share_a_stretch(layout.lines[i], layout.lines[j])) << i << " " << j;
    }
  }
}

TEST(RingLayout, TopologyOrderIsOneLinePerStep) {
  const RingLayout layout = ring_layout(racks(64, 8, Order::topology), "topology order");
  EXPECT_EQ(layout.lines.size(), 64u);
}

TEST(RingLayout, LinesEndAtTheEdgesOfTheirBoxes) {
  const Sketch sketch = racks(8, 4, Order::given);
  const RingLayout layout = ring_layout(sketch, "the order given");
  const auto on_edge = [](Point point, const Rect& box) {
    const bool beside = point.x == box.x || point.x == box.right();
    const bool above = point.y == box.y || point.y == box.bottom();
    return (beside && point.y >= box.y && point.y <= box.bottom()) ||
           (above && point.x >= box.x && point.x <= box.right());
  };
  for (std::size_t i = 0; i < layout.lines.size(); ++i) {
    EXPECT_TRUE(on_edge(layout.lines[i].points.front(), layout.units[sketch.steps[i].from].box));
    EXPECT_TRUE(on_edge(layout.lines[i].points.back(), layout.units[sketch.steps[i].to].box));
  }
}

TEST(RingLayout, PicturesOfTwoOrdersHaveTheSameBoxes) {
  const RingLayout given = ring_layout(racks(8, 4, Order::given), "the order given");
  const RingLayout ordered = ring_layout(racks(8, 4, Order::topology), "topology order");
  for (std::size_t i = 0; i < given.units.size(); ++i) {
    EXPECT_EQ(given.units[i].lines[0].text, ordered.units[i].lines[0].text);
    EXPECT_EQ(given.units[i].box.x, ordered.units[i].box.x);
    EXPECT_EQ(given.units[i].box.y, ordered.units[i].box.y);
  }
}

TEST(RingLayout, LongHostNamesLoseTheirDomainFirst) {
  const auto shown = [](const std::string& host) {
    const Sketch sketch =
        picture::sketch(*placement::place({{host, 1}}, {}), *placement::place({{host, 1}}, {}));
    return ring_layout(sketch, "").units[0].lines[0].text;
  };
  EXPECT_EQ(shown("gpu7.example.org"), "gpu7.example.org");
  EXPECT_EQ(shown("gpu7.frankfurt.example.org"), "gpu7");
  EXPECT_EQ(shown("gpu-cluster-of-frankfurt-0007.example.org"), "gpu-cluster…kfurt-0007");
}

std::size_t count(std::string_view text, std::string_view what) {
  std::size_t found = 0;
  for (std::size_t at = text.find(what); at != std::string_view::npos;
       at = text.find(what, at + what.size())) {
    ++found;
  }
  return found;
}

TEST(RingSvg, IsOfBoundedSizeAndHasAllBoxes) {
  constexpr std::size_t most_bytes = 1'000'000;
  for (const auto& [name, sketch] : all_cases()) {
    SCOPED_TRACE(name);
    const std::string svg = ring_svg(ring_layout(sketch, "topology order"));
    EXPECT_LT(svg.size(), most_bytes);
    EXPECT_EQ(count(svg, "<g text-anchor="), sketch.units.size());
    EXPECT_EQ(count(svg, "<g"), count(svg, "</g>"));
    EXPECT_EQ(svg.find("nan"), std::string::npos);
    EXPECT_EQ(svg.find("<script"), std::string::npos);
  }
}

// A ring of eight nodes has eight steps: in two racks, two leave their rack and six do not.
TEST(RingSvg, TheRowOfStepsThatStayHasFigures) {
  const Sketch sketch = racks(8, 4, Order::topology);
  const std::string svg = ring_svg(ring_layout(sketch, "topology order"));
  const std::size_t at = svg.find("stay in their rack");
  ASSERT_NE(at, svg.npos);
  const std::string row = svg.substr(at, svg.find("leave their", at) - at);
  EXPECT_TRUE(row.contains(fmt::format(">{}<", 8 - sketch.ring.back().given))) << row;
  EXPECT_TRUE(row.contains(fmt::format(">{}<", 8 - sketch.ring.back().ordered))) << row;
}

TEST(RingSvg, ColoursTellLevelsApart) {
  const std::string svg = ring_svg(ring_layout(racks(8, 4, Order::topology), "topology order"));
  const auto lines = [&](const char* colour) {
    return count(svg, fmt::format("<path stroke=\"{}\"", colour));
  };
  EXPECT_EQ(lines(level_colour(0)), 2u + 1);  // and the legend's line
  EXPECT_EQ(lines(level_colour(1)), 2u + 1);
  EXPECT_EQ(lines(inside_colour), 4u + 1);
  for (std::size_t a = 0; a < topology::max_levels; ++a) {
    for (std::size_t b = 0; b < a; ++b) {
      EXPECT_FALSE(std::string_view(level_colour(a)) == level_colour(b) &&
                   std::string_view(level_dashes(a)) == level_dashes(b));
    }
  }
}

TEST(RingPictures, NamesAreText) {
  const std::string hostile = "</text><script>alert('1')</script>&\"\n\x01\xff";
  const Sketch sketch = sketch_of(
      {hostile}, 3, [&](std::size_t) -> Path { return {hostile}; }, {}, hostile);
  const std::string svg = ring_svg(ring_layout(sketch, hostile.substr(0, 20)));
  EXPECT_EQ(count(svg, "<script"), 0u);
  EXPECT_EQ(count(svg, "\x01"), 0u);
  EXPECT_EQ(count(svg, "\xff"), 0u);
  const std::string dot = ring_dot(sketch, "topology order");
  EXPECT_EQ(count(dot, "\xff"), 0u);
  EXPECT_EQ((count(dot, "\"") - count(dot, "\\\"")) % 2, 0u) << dot;
}

TEST(RingDot, ClustersNodesAndColouredEdges) {
  const Sketch sketch = racks(4, 2, Order::topology);
  EXPECT_EQ(ring_dot(sketch, "topology order"),
            "digraph ring {\n"
            "  label=\"4 nodes in topology order\\nplaces from test\"; labelloc=t; bgcolor=white; "
            "newrank=true;\n"
            "  node [shape=box, style=filled, fillcolor=white, fontname=monospace];\n"
            "  edge [color=\"#5c6773\"];\n"
            "subgraph cluster_0 {\n"
            "  label=\"spine s0 · 4 nodes\"; style=\"rounded\"; color=\"#d55e00\";\n"
            "subgraph cluster_1 {\n"
            "  label=\"rack rack0 · 2 nodes\"; style=\"rounded\"; color=\"#0072b2\";\n"
            "  u0 [label=\"n0\\nranks 0–7\", penwidth=3];\n"
            "  u1 [label=\"n2\\nranks 8–15\"];\n"
            "}\n"
            "subgraph cluster_2 {\n"
            "  label=\"rack rack1 · 2 nodes\"; style=\"rounded\"; color=\"#0072b2\";\n"
            "  u2 [label=\"n1\\nranks 16–23\"];\n"
            "  u3 [label=\"n3\\nranks 24–31\"];\n"
            "}\n"
            "}\n"
            "  u0 -> u1;\n"
            "  u1 -> u2 [color=\"#0072b2\", penwidth=2];\n"
            "  u2 -> u3;\n"
            "  u3 -> u0 [color=\"#0072b2\", penwidth=2];\n"
            "}\n");
}

}  // namespace
}  // namespace toprun::picture
