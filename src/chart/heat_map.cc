#include "chart/heat_map.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <optional>

#include "chart/axis.h"
#include "chart/markup.h"
#include "chart/page.h"

namespace toprun::chart {
namespace {

constexpr double map_left = 170;
constexpr double most_map_px = 610;
constexpr double most_cell_px = 48;
constexpr double below_title = 48;
constexpr double below_map = 28;
constexpr double beside_map = 28;
constexpr double above_scale = 20;  // to the unit
constexpr double scale_width = 18;
constexpr double least_scale_px = 160;
constexpr double bracket_px = 6;
constexpr double small_px = 11;
constexpr double least_row_px = 11.5;       // to hold a name
constexpr double names_px = 96;             // for the nodes' names, beside the groups' brackets
constexpr double groups_px = 70;            // for the brackets and the groups' names
constexpr std::size_t most_node_name = 14;  // characters: names_px of the small font
constexpr std::size_t most_group_name = 8;
constexpr std::size_t most_map_note = 100;
constexpr std::size_t shades = 24;
constexpr std::size_t scale_ticks = 4;

struct Colour {
  double red, green, blue;
};
// Their lightness grows evenly.
constexpr std::array<Colour, 5> anchors = {
    {{68, 1, 84}, {59, 82, 139}, {33, 145, 140}, {94, 201, 98}, {253, 231, 37}}};

std::string colour_of(std::size_t shade) {
  const double at = static_cast<double>(shade) / (shades - 1) * (anchors.size() - 1);
  const auto below = std::min(static_cast<std::size_t>(at), anchors.size() - 2);
  const double part = at - static_cast<double>(below);
  const auto mixed = [&](double Colour::*channel) {
    return static_cast<int>(
        std::lround(anchors[below].*channel * (1 - part) + anchors[below + 1].*channel * part));
  };
  return fmt::format("#{:02x}{:02x}{:02x}", mixed(&Colour::red), mixed(&Colour::green),
                     mixed(&Colour::blue));
}

std::optional<Error> objection(const HeatMap& map) {
  const auto about = [&](std::string why) {
    return Error{fmt::format("the heat map \"{}\" cannot be drawn", map.title), std::move(why), {}};
  };
  const std::size_t nodes = map.names.size();
  if (nodes < 2 || nodes > most_nodes) {
    return about(fmt::format("it has {} nodes, not 2 to {}", nodes, most_nodes));
  }
  if (map.values.size() != nodes * nodes) {
    return about(fmt::format("it has {} values for {} nodes", map.values.size(), nodes));
  }
  if (map.groups.size() > most_groups) {
    return about(fmt::format("it has {} groups, more than {}", map.groups.size(), most_groups));
  }
  for (const Group& group : map.groups) {
    if (group.count > 0 && group.first < nodes && group.count <= nodes - group.first) continue;
    return about(fmt::format("the group \"{}\" goes beyond its nodes", group.name));
  }
  if (std::ranges::any_of(map.values, [](double value) { return std::isinf(value); })) {
    return about("a value is infinite");
  }
  if (std::ranges::all_of(map.values, [](double value) { return std::isnan(value); })) {
    return about("nothing in it was measured");
  }
  return std::nullopt;
}

// The values of squares of `side` × `side` pairs.
struct Grid {
  std::size_t side = 1;
  std::size_t across = 0;
  std::vector<double> values;
};

Grid grid_of(const HeatMap& map) {
  const std::size_t nodes = map.names.size();
  Grid out;
  out.side = (nodes + most_cells_across - 1) / most_cells_across;
  out.across = (nodes + out.side - 1) / out.side;
  out.values.assign(out.across * out.across, std::numeric_limits<double>::quiet_NaN());
  for (std::size_t i = 0; i < map.values.size(); ++i) {
    const double value = map.values[i];
    double& cell = out.values[i / nodes / out.side * out.across + i % nodes / out.side];
    // The worst of a square; anything is worse than nothing.
    if (std::isnan(cell) || (map.low_is_bad ? value < cell : value > cell)) cell = value;
  }
  return out;
}

class HeatMapDrawing {
 public:
  explicit HeatMapDrawing(const HeatMap& map)
      : map_(map),
        grid_(grid_of(map)),
        node_px_(std::min(most_map_px / static_cast<double>(map.names.size()), most_cell_px)),
        map_px_(node_px_ * static_cast<double>(map.names.size())),
        map_top_(below_title + (node_px_ >= least_row_px ? names_px : 0) +
                 (map.groups.empty() ? 0 : groups_px)),
        scale_left_(map_left + map_px_ + beside_map),
        notes_top_(map_top_ + std::max(map_px_, least_scale_px + above_scale + 3 * line_px) +
                   below_map),
        page_(map.title, description(map), height()) {
    double least = std::numeric_limits<double>::infinity();
    double most = -least;
    for (const double value : grid_.values) {
      if (std::isnan(value)) continue;
      least = std::min(least, value);
      most = std::max(most, value);
    }
    range_ = range_of(least, most, Scale::linear, map.unit, scale_ticks);
    // No shade is left unused above the highest figure.
    if (least < most) {
      std::erase_if(range_.ticks, [&](const Tick& tick) { return tick.value > most; });
      range_.high = most;
    }
  }

  std::string run() && {
    page_.add(
        "<defs><pattern id=\"hatch\" width=\"6\" height=\"6\" patternUnits=\"userSpaceOnUse\" "
        "patternTransform=\"rotate(45)\"><rect class=\"paper\" width=\"6\" height=\"6\"/>"
        "<line class=\"axis\" y2=\"6\" stroke-width=\"2\"/></pattern></defs>\n");
    page_.text(margin_px, margin_px + title_px, shortened(map_.title, most_title),
               Page::Anchor::start,
               fmt::format("class=\"ink\" font-size=\"{}\" font-weight=\"bold\"", title_px));
    draw_cells();
    if (node_px_ >= least_row_px) draw_names();
    for (const Group& group : map_.groups) draw_group(group);
    draw_scale();
    for (std::size_t i = 0; i < map_.notes.size(); ++i) {
      draw_note(i + 1, shortened(map_.notes[i], most_map_note));
    }
    draw_note(0, how_to_read());
    return std::move(page_).end();
  }

 private:
  static std::string description(const HeatMap& map) {
    std::size_t measured = 0;
    for (const double value : map.values) measured += std::isnan(value) ? 0 : 1;
    return fmt::format("A figure in {} from each of {} nodes to each other; {} were measured.",
                       map.unit, map.names.size(), measured);
  }

  double height() const {
    return notes_top_ + static_cast<double>(map_.notes.size() + 1) * line_px;
  }

  std::string how_to_read() const {
    std::string out = "Rows send, columns receive.";
    if (grid_.side > 1) {
      out += fmt::format(" A cell is the {} of {} × {} pairs.",
                         map_.low_is_bad ? "lowest" : "highest", grid_.side, grid_.side);
    }
    return out;
  }

  void draw_note(std::size_t i, std::string_view text) {
    page_.text(map_left, notes_top_ + static_cast<double>(i) * line_px, text, Page::Anchor::start,
               "class=\"faint\"");
  }

  std::optional<std::size_t> shade_of(double value) const {
    if (std::isnan(value)) return std::nullopt;
    const double at = position(value, range_, Scale::linear) * shades;
    return std::min(static_cast<std::size_t>(std::max(at, 0.0)), shades - 1);
  }

  // One path per shade, of runs of cells, in units of a cell.
  void draw_cells() {
    std::array<std::string, shades> paths;
    const std::size_t across = grid_.across;
    for (std::size_t row = 0; row < across; ++row) {
      const double* const values = grid_.values.data() + row * across;
      for (std::size_t first = 0, last = 0; first < across; first = last) {
        const std::optional<std::size_t> shade = shade_of(values[first]);
        while (last < across && shade_of(values[last]) == shade) ++last;
        if (shade) paths[*shade] += fmt::format("M{} {}h{}", first, row, last - first);
      }
    }
    const std::string place = fmt::format("x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\"", map_left,
                                          map_top_, coordinate(map_px_), coordinate(map_px_));
    page_.add("<rect {} fill=\"url(#hatch)\"/>\n", place);
    // The last square may reach beyond the last node.
    page_.add("<svg {} viewBox=\"0 -0.5 {} {}\" shape-rendering=\"crispEdges\">\n", place, cells(),
              cells());
    for (std::size_t shade = 0; shade < shades; ++shade) {
      if (paths[shade].empty()) continue;
      page_.add("<path stroke=\"{}\" d=\"{}\"/>\n", colour_of(shade), paths[shade]);
    }
    page_.add("</svg>\n");
  }

  double cells() const {
    return static_cast<double>(map_.names.size()) / static_cast<double>(grid_.side);
  }

  double offset(std::size_t node) const { return static_cast<double>(node) * node_px_; }

  void draw_names() {
    for (std::size_t i = 0; i < map_.names.size(); ++i) {
      const double middle = offset(i) + node_px_ / 2 + small_px / 3;
      small(map_left - 4, map_top_ + middle, shortened(map_.names[i], most_node_name), false);
      small(map_left + middle, map_top_ - 4, shortened(map_.names[i], most_node_name), true);
    }
  }

  // Ends at the point, or begins there and runs upwards.
  void small(double x, double y, std::string_view text, bool upwards) {
    const std::string turned =
        upwards ? fmt::format(" transform=\"rotate(-90 {} {})\"", coordinate(x), coordinate(y))
                : "";
    page_.text(x, y, text, upwards ? Page::Anchor::start : Page::Anchor::end,
               fmt::format("class=\"ink\" font-size=\"{}\"{}", small_px, turned));
  }

  // Brackets stand outside the names.
  double bracket_offset() const { return (node_px_ >= least_row_px ? names_px : 0) + gap; }
  static constexpr double gap = 4;

  void draw_group(const Group& group) {
    const double first = offset(group.first);
    const double last = offset(group.first + group.count);
    const double left = map_left - bracket_offset();
    const double top = map_top_ - bracket_offset();
    const double inset = std::min(1.0, (last - first) / 4);
    page_.add("<path class=\"axis\" d=\"M{0} {1}h-{2}V{3}h{2}M{4} {5}v-{2}H{6}v{2}\"/>\n",
              coordinate(left), coordinate(map_top_ + first + inset), bracket_px,
              coordinate(map_top_ + last - inset), coordinate(map_left + first + inset),
              coordinate(top), coordinate(map_left + last - inset));
    for (const double at : {first, last}) {
      if (at <= 0 || at >= map_px_) continue;
      page_.line(map_left, map_top_ + at, map_left + map_px_, map_top_ + at, "class=\"rule\"");
      page_.line(map_left + at, map_top_, map_left + at, map_top_ + map_px_, "class=\"rule\"");
    }
    if (last - first < least_row_px) return;
    const double middle = (first + last) / 2 + small_px / 3;
    const std::string name = shortened(group.name, most_group_name);
    small(left - bracket_px - gap, map_top_ + middle, name, false);
    if (width_px(name, small_px) <= last - first) {
      page_.text(map_left + (first + last) / 2, top - bracket_px - gap, name, Page::Anchor::middle,
                 fmt::format("class=\"ink\" font-size=\"{}\"", small_px));
    } else {
      small(map_left + middle, top - bracket_px - gap, name, true);
    }
  }

  void draw_scale() {
    const double tall = std::max(map_px_ / 2, least_scale_px);
    const double step = tall / shades;
    page_.text(scale_left_, map_top_ + gap, shortened(map_.unit, most_group_name));
    const double top = map_top_ + above_scale;
    for (std::size_t shade = 0; shade < shades; ++shade) {
      page_.add("<rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" fill=\"{}\"/>\n", scale_left_,
                coordinate(top + tall - static_cast<double>(shade + 1) * step), scale_width,
                coordinate(step + 0.3), colour_of(shade));
    }
    for (const Tick& tick : range_.ticks) {
      const double y = top + tall * (1 - position(tick.value, range_, Scale::linear));
      page_.text(scale_left_ + scale_width + gap, y + small_px / 3, tick.label);
    }
    const double below = top + tall + line_px;
    page_.add("<rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" fill=\"url(#hatch)\"/>\n",
              scale_left_, coordinate(below), scale_width, scale_width);
    page_.text(scale_left_, below + 2 * line_px, "not measured", Page::Anchor::start,
               fmt::format("class=\"ink\" font-size=\"{}\"", small_px));
  }

  const HeatMap& map_;
  Grid grid_;
  double node_px_;
  double map_px_;
  double map_top_;
  double scale_left_;
  double notes_top_;
  Page page_;
  Range range_;
};

}  // namespace

Result<std::string> svg(const HeatMap& map) {
  if (auto error = objection(map)) return std::unexpected(std::move(*error));
  return HeatMapDrawing(map).run();
}

}  // namespace toprun::chart
