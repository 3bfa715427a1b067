#include "observe/picture/ring_dot.h"

#include <fmt/format.h>

#include "observe/chart/markup.h"
#include "observe/picture/ring_svg.h"
#include "observe/picture/ring_words.h"

namespace toprun::picture {
namespace {

std::string label_of(const std::vector<std::string>& lines) {
  std::string label;
  for (const std::string& line : lines) {
    if (!label.empty()) label += "\\n";
    label += chart::dot_text(line);
  }
  return label;
}

class Dot {
 public:
  explicit Dot(const Sketch& sketch) : sketch_(sketch) {}

  std::string run(const std::string& order) {
    add("digraph ring {{\n  label=\"{}\"; labelloc=t; bgcolor=white; newrank=true;\n"
        "  node [shape=box, style=filled, fillcolor=white, fontname=monospace];\n"
        "  edge [color=\"{}\"];\n",
        label_of(heading_of(sketch_, order)), inside_colour);
    add_inside(sketch_.whole);
    for (const Step& step : sketch_.steps) add_edge(step);
    add("}}\n");
    return std::move(out_);
  }

 private:
  template <class... T>
  void add(fmt::format_string<T...> format, T&&... values) {
    out_ += fmt::format(format, std::forward<T>(values)...);
  }

  void add_inside(const Frame& frame) {
    for (std::size_t i = frame.first; i < frame.first + frame.own; ++i) add_unit(i);
    for (const Frame& inside : frame.inside) add_cluster(inside);
  }

  void add_cluster(const Frame& frame) {
    add("subgraph cluster_{} {{\n  label=\"{}\"; style=\"{}\"; color=\"{}\";\n", clusters_++,
        chart::dot_text(title_of(sketch_, frame)), frame.name ? "rounded" : "rounded,dashed",
        frame.name ? level_colour(*frame.level) : inside_colour);
    add_inside(frame);
    add("}}\n");
  }

  void add_unit(std::size_t i) {
    const Unit& unit = sketch_.units[i];
    add("  u{} [label=\"{}\"{}{}];\n", i, label_of(lines_of(sketch_, unit)),
        unit.unknown ? ", style=\"filled,dashed\"" : "", sketch_.start == i ? ", penwidth=3" : "");
  }

  void add_edge(const Step& step) {
    add("  u{} -> u{}", step.from, step.to);
    if (step.crosses) {
      add(" [color=\"{}\", penwidth=2{}{}]", level_colour(*step.crosses),
          step.unknown ? ", style=dashed" : "",
          step.count > 1 ? fmt::format(", label=\"{}\"", step.count) : std::string());
    }
    add(";\n");
  }

  const Sketch& sketch_;
  std::string out_;
  std::size_t clusters_ = 0;
};

}  // namespace

std::string ring_dot(const Sketch& sketch, const std::string& order) {
  return Dot(sketch).run(order);
}

}  // namespace toprun::picture
