#include "observe/picture/ring_svg.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "observe/chart/page.h"
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

constexpr const char* background_colour = "#ffffff";
constexpr const char* text_colour = "#1c2430";
constexpr const char* unknown_colour = "#6b7280";
constexpr const char* unknown_dashes = "5 4";
constexpr double corner_radius = 9;  // of the ring's lines
constexpr double arrow_length = 8;
constexpr double arrow_half_width = 4;
constexpr double widest_line = 4.5;
constexpr double team_width = 5;  // of the stripe at a box's left edge

constexpr std::array colours = {"#d55e00", "#0072b2", "#009e73", "#cc79a7", "#e69f00", "#56b4e9"};
constexpr std::array team_colours = {"#4477aa", "#ee6677", "#228833", "#ccbb44",
                                     "#66ccee", "#aa3377", "#bb5500", "#77aadd",
                                     "#99ddbb", "#ddaadd", "#332288", "#888888"};
constexpr std::array dashes = {"", "9 4", "2 4"};

Point moved(Point from, Point to, double distance) {
  const double length = std::hypot(to.x - from.x, to.y - from.y);
  if (length == 0) return from;
  return {from.x + (to.x - from.x) / length * distance,
          from.y + (to.y - from.y) / length * distance};
}

double distance(Point a, Point b) {
  return std::hypot(b.x - a.x, b.y - a.y);
}

class Svg {
 public:
  explicit Svg(const RingLayout& layout) : layout_(layout) {}

  std::string run() {
    begin();
    for (const FrameBox& frame : layout_.frames) add_frame(frame);
    add("<g fill=\"none\" stroke-linecap=\"round\">\n");
    for (const Line& line : layout_.lines) add_line(line);
    add("</g>\n");
    add("<g font-family=\"{}\" font-size=\"12\">\n", fixed_width);
    for (const FrameBox& frame : layout_.frames) add_title(frame);
    for (const UnitBox& unit : layout_.units) add_unit(unit);
    add("</g>\n");
    for (const Line& line : layout_.lines) add_arrow(line);
    for (const Key& key : layout_.keys) add_key(key);
    for (const Text& text : layout_.texts) add_text(text);
    add("</svg>\n");
    return std::move(out_);
  }

 private:
  static constexpr const char* fixed_width =
      "ui-monospace,'DejaVu Sans Mono',Menlo,Consolas,monospace";
  static constexpr const char* proportional = "system-ui,'DejaVu Sans',Helvetica,Arial,sans-serif";

  template <class... T>
  void add(fmt::format_string<T...> format, T&&... values) {
    out_ += fmt::format(format, std::forward<T>(values)...);
  }

  // One decimal is enough for a screen.
  static std::string number(double value) {
    std::string text = fmt::format("{:.1f}", value);
    if (text.ends_with(".0")) text.resize(text.size() - 2);
    return text;
  }
  static std::string pair(Point point) { return number(point.x) + ' ' + number(point.y); }

  void begin() {
    const std::string width = number(layout_.width);
    const std::string height = number(layout_.height);
    add("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
        "<svg xmlns=\"http://www.w3.org/2000/svg\" role=\"img\" width=\"{0}\" height=\"{1}\" "
        "viewBox=\"0 0 {0} {1}\">\n<title>{2}</title>\n"
        "<rect x=\"0.5\" y=\"0.5\" width=\"{3}\" height=\"{4}\" rx=\"10\" fill=\"{5}\" "
        "stroke=\"#d5dae1\"/>\n",
        width, height, chart::xml_text(layout_.title), number(layout_.width - 1),
        number(layout_.height - 1), background_colour);
  }

  void add_rect(const Rect& box, double radius, std::string_view attributes) {
    add("<rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" rx=\"{}\" {}/>\n", number(box.x),
        number(box.y), number(box.width), number(box.height), number(radius), attributes);
  }

  static const char* frame_colour(const FrameBox& frame) {
    return frame.level ? level_colour(*frame.level) : unknown_colour;
  }

  void add_frame(const FrameBox& frame) {
    const char* const fill = frame.depth % 2 == 0 ? "#f4f6f9" : "#ffffff";
    add_rect(frame.box, 8,
             frame.unknown ? fmt::format("fill=\"{}\" stroke=\"{}\" stroke-dasharray=\"{}\"", fill,
                                         unknown_colour, unknown_dashes)
                           : fmt::format("fill=\"{}\" stroke=\"{}\" stroke-opacity=\"0.55\"", fill,
                                         frame_colour(frame)));
  }

  void add_title(const FrameBox& frame) {
    add("<text x=\"{}\" y=\"{}\" fill=\"{}\" font-weight=\"bold\" stroke=\"{}\" "
        "stroke-width=\"3\" stroke-linejoin=\"round\" paint-order=\"stroke\">",
        number(frame.title.at.x), number(frame.title.at.y), text_colour, background_colour);
    if (!frame.whole_name.empty()) add("<title>{}</title>", chart::xml_text(frame.whole_name));
    add("{}</text>\n", chart::xml_text(frame.title.text));
  }

  void add_unit(const UnitBox& unit) {
    add("<g text-anchor=\"middle\"><title>{}</title>\n", chart::xml_text(unit.about));
    const char* const stroke = unit.unknown ? unknown_colour : text_colour;
    add_rect(unit.box, 6,
             fmt::format("fill=\"{}\" stroke=\"{}\"{}{}", background_colour, stroke,
                         unit.start ? " stroke-width=\"2.5\"" : "",
                         unit.unknown ? fmt::format(" stroke-dasharray=\"{}\"", unknown_dashes)
                                      : std::string()));
    if (unit.team) {
      const Rect stripe{unit.box.x, unit.box.y, team_width, unit.box.height};
      add_rect(stripe, 2, fmt::format("fill=\"{}\"", team_colour(*unit.team)));
    }
    for (const Text& line : unit.lines) {
      add("<text x=\"{}\" y=\"{}\" fill=\"{}\"{}>{}</text>\n", number(line.at.x), number(line.at.y),
          line.style == Style::name ? text_colour : "#4b5563",
          line.style == Style::name ? " font-weight=\"bold\"" : "", chart::xml_text(line.text));
    }
    add("</g>\n");
  }

  static const char* colour_of(const std::optional<std::size_t>& level) {
    return level ? level_colour(*level) : inside_colour;
  }

  static std::string stroke_of(const std::optional<std::size_t>& level, bool unknown,
                               double width) {
    std::string text =
        fmt::format("stroke=\"{}\" stroke-width=\"{}\"", colour_of(level), number(width));
    const std::string_view pattern = unknown ? unknown_dashes : level ? level_dashes(*level) : "";
    if (!pattern.empty()) text += fmt::format(" stroke-dasharray=\"{}\"", pattern);
    return text;
  }

  // Lines that represent several steps are wider.
  static double width_of_line(const Line& line) {
    const double least = line.arrow ? 2 : 1.5;
    return std::min(least + 0.4 * std::log2(static_cast<double>(line.count)), widest_line);
  }

  // The tip touches the box, so the line ends inside the tip, where the tip is wide.
  static Point foot_of_tip(const Line& line) {
    return moved(line.points.back(), line.points[line.points.size() - 2], arrow_length - 1);
  }

  void add_line(const Line& line) {
    add("<path {} d=\"M{}", stroke_of(line.crosses, line.unknown, width_of_line(line)),
        pair(line.points.front()));
    for (std::size_t i = 1; i + 1 < line.points.size(); ++i) add_corner(line.points, i);
    add("L{}\"/>\n", pair(line.arrow ? foot_of_tip(line) : line.points.back()));
  }

  void add_corner(const std::vector<Point>& points, std::size_t i) {
    const double room =
        std::min(distance(points[i - 1], points[i]), distance(points[i], points[i + 1]));
    const double radius = std::min(corner_radius, room / 2);
    add("L{}Q{} {}", pair(moved(points[i], points[i - 1], radius)), pair(points[i]),
        pair(moved(points[i], points[i + 1], radius)));
  }

  void add_arrow(const Line& line) {
    if (!line.arrow) return;
    const Point tip = line.points.back();
    const Point before = line.points[line.points.size() - 2];
    const Point foot = moved(tip, before, arrow_length);
    const double dx = (tip.x - foot.x) / arrow_length * arrow_half_width;
    const double dy = (tip.y - foot.y) / arrow_length * arrow_half_width;
    add("<path fill=\"{}\" d=\"M{}L{} {}Z\"/>\n", colour_of(line.crosses), pair(tip),
        pair({foot.x - dy, foot.y + dx}), pair({foot.x + dy, foot.y - dx}));
  }

  void add_key(const Key& key) {
    const Line line{{key.from, key.to}, key.level};
    add_line(line);
    add_arrow(line);
  }

  void add_text(const Text& text) {
    const bool heading = text.style == Style::heading;
    const bool fixed = text.style == Style::name || text.style == Style::detail;
    add("<text x=\"{}\" y=\"{}\" font-family=\"{}\" font-size=\"{}\" fill=\"{}\"{}{}>{}</text>\n",
        number(text.at.x), number(text.at.y), fixed ? fixed_width : proportional,
        heading ? 20
        : fixed ? 12
                : 13,
        text_colour, heading ? " font-weight=\"bold\"" : "",
        text.anchor == Text::Anchor::end ? " text-anchor=\"end\"" : "", chart::xml_text(text.text));
  }

  const RingLayout& layout_;
  std::string out_;
};

}  // namespace

std::string ring_svg(const RingLayout& layout) {
  return Svg(layout).run();
}

const char* level_colour(std::size_t level) {
  return colours[level % colours.size()];
}

const char* team_colour(std::size_t team) {
  return team_colours[team % team_colours.size()];
}

const char* level_dashes(std::size_t level) {
  return dashes[level / colours.size() % dashes.size()];
}

std::string ring_dot(const Sketch& sketch, const std::string& order) {
  return Dot(sketch).run(order);
}

}  // namespace toprun::picture
