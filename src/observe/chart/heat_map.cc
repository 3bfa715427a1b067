#include "observe/chart/heat_map.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <optional>

#include "base/os/style.h"
#include "observe/chart/axis.h"
#include "observe/chart/page.h"

namespace toprun::chart {
namespace {

constexpr double most_map_px = 610;
constexpr double most_cell_px = 100;
constexpr double below_title = 48;
constexpr double below_map = 28;
constexpr double beside_map = 28;
constexpr double beside_scale = 88;  // for its labels
constexpr double frame_px = 3;
constexpr double halo_px = 6;       // of a frame, in the paper's colour
constexpr double least_span = 2;    // of the scale: the most by the least
constexpr double above_scale = 20;  // to the unit
constexpr double scale_width = 18;
constexpr double least_scale_px = 160;
constexpr double bracket_px = 6;
constexpr double small_px = 11;
constexpr double least_row_px = 11.5;  // to hold a name
constexpr double gap = 4;
constexpr double apart = 0.08;              // of the scale: labels at its ends from others
constexpr std::size_t most_node_name = 14;  // characters
constexpr std::size_t most_group_name = 8;
constexpr std::size_t most_map_note = 84;
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
    return about(fmt::format("the map has {} nodes, but only 2 to {} nodes are possible", nodes,
                             most_nodes));
  }
  if (map.values.size() != nodes * nodes) {
    return about(fmt::format("the map has {} values for {} nodes", map.values.size(), nodes));
  }
  if (!map.figures.empty() && map.figures.size() != map.values.size()) {
    return about(
        fmt::format("the map has {} figures for {} values", map.figures.size(), map.values.size()));
  }
  if (map.groups.size() > most_groups) {
    return about(
        fmt::format("the map has {} groups, more than {}", map.groups.size(), most_groups));
  }
  const auto is_within = [&](std::size_t first, std::size_t count) {
    return count > 0 && first < nodes && count <= nodes - first;
  };
  for (const Group& group : map.groups) {
    if (is_within(group.first, group.count)) continue;
    return about(fmt::format("the group \"{}\" goes beyond the map's nodes", group.name));
  }
  if (map.frames.size() > most_frames) {
    return about(
        fmt::format("the map has {} frames, more than {}", map.frames.size(), most_frames));
  }
  for (const Frame& frame : map.frames) {
    if (is_within(frame.first_row, frame.rows) && is_within(frame.first_column, frame.columns)) {
      continue;
    }
    return about("a frame goes beyond the map's nodes");
  }
  if (std::ranges::any_of(map.values, [](double value) { return std::isinf(value); })) {
    return about("a value is infinite");
  }
  if (map.scale != Scale::linear &&
      std::ranges::any_of(map.values, [](double value) { return value <= 0; })) {
    return about("a value on the map's logarithmic scale is not above 0");
  }
  if (std::ranges::all_of(map.values, [](double value) { return std::isnan(value); })) {
    return about("the map contains no measured value");
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
        names_px_(node_px_ < least_row_px ? 0 : widest(map.names, most_node_name) + gap),
        groups_px_(map.groups.empty() ? 0 : widest_group(map) + bracket_px + 3 * gap),
        map_left_(margin_px + names_px_ + groups_px_),
        map_top_(below_title + names_px_ + groups_px_),
        scale_left_(map_left_ + map_px_ + beside_map),
        notes_top_(map_top_ + std::max(map_px_, least_scale_px + above_scale + 3 * line_px) +
                   below_map),
        page_(map.title, description(map), height(), width()),
        range_(scale_of(map, grid_.values)) {}

  std::string run() && {
    page_.add(
        "<defs><pattern id=\"hatch\" width=\"6\" height=\"6\" patternUnits=\"userSpaceOnUse\" "
        "patternTransform=\"rotate(45)\"><rect class=\"paper\" width=\"6\" height=\"6\"/>"
        "<line class=\"axis\" y2=\"6\" stroke-width=\"2\"/></pattern></defs>\n");
    page_.text(margin_px, margin_px + title_px, both_ends(map_.title, most_title),
               Page::Anchor::start,
               fmt::format("class=\"ink\" font-size=\"{}\" font-weight=\"bold\"", title_px));
    draw_cells();
    if (!map_.figures.empty() && map_.names.size() <= most_with_figures) draw_figures();
    if (node_px_ >= least_row_px) draw_names();
    for (const Group& group : map_.groups) draw_group(group);
    for (const Frame& frame : map_.frames) draw_frame(frame);
    draw_scale();
    for (std::size_t i = 0; i < map_.notes.size(); ++i) {
      draw_note(i + 1, both_ends(map_.notes[i], most_map_note));
    }
    draw_note(0, how_to_read());
    return std::move(page_).end();
  }

 private:
  static double widest(const std::vector<std::string>& texts, std::size_t most) {
    double out = 0;
    for (const std::string& text : texts) {
      out = std::max(out, width_px(both_ends(text, most), small_px));
    }
    return out;
  }

  static double widest_group(const HeatMap& map) {
    std::vector<std::string> names;
    for (const Group& group : map.groups) names.push_back(group.name);
    return widest(names, most_group_name);
  }

  static std::string description(const HeatMap& map) {
    std::size_t measured = 0;
    for (const double value : map.values) measured += std::isnan(value) ? 0 : 1;
    return fmt::format(
        "The map shows a value in {} from each of {} nodes to each other node; {} pairs were "
        "measured.",
        map.unit, map.names.size(), measured);
  }

  double height() const {
    return notes_top_ + static_cast<double>(map_.notes.size() + 1) * line_px;
  }

  // No wider than what stands in it.
  double width() const {
    double widest = std::max(scale_left_ + scale_width + beside_scale,
                             margin_px + width_px(both_ends(map_.title, most_title), title_px));
    widest = std::max(widest, map_left_ + width_px(how_to_read(), font_px));
    for (const std::string& note : map_.notes) {
      widest = std::max(widest, map_left_ + width_px(both_ends(note, most_map_note), font_px));
    }
    return std::min(widest + margin_px, page_width);
  }

  static std::string end_text(double value) {
    return value >= 100 ? fmt::format("{:.0f}", value) : fmt::format("{:.2g}", value);
  }

  // No shade is left unused above the highest figure.
  static Range scale_of(const HeatMap& map, const std::vector<double>& values) {
    double least = std::numeric_limits<double>::infinity();
    double most = -least;
    for (const double value : values) {
      if (std::isnan(value)) continue;
      least = std::min(least, value);
      most = std::max(most, value);
    }
    if (map.scale != Scale::linear) least = std::min(least, most / least_span);
    Range range = range_of(least, most, map.scale, map.unit, scale_ticks);
    if (least == most) return range;
    range.high = most;
    if (map.scale != Scale::linear) range.low = least;
    const auto is_away = [&](double value, double end) {
      return std::abs(position(value, range, map.scale) - position(end, range, map.scale)) > apart;
    };
    std::erase_if(range.ticks, [&](const Tick& tick) {
      return tick.value > range.high || tick.value < range.low ||
             (map.scale != Scale::linear &&
              !(is_away(tick.value, range.low) && is_away(tick.value, range.high)));
    });
    if (map.scale != Scale::linear) {
      for (const double end : {range.low, range.high}) range.ticks.push_back({end, end_text(end)});
    }
    return range;
  }

  std::string how_to_read() const {
    std::string out = "Rows send, columns receive.";
    if (!map_.frames.empty()) out += " Frames mark the findings.";
    if (grid_.side > 1) {
      out += fmt::format(" A cell is the {} of {} × {} pairs.",
                         map_.low_is_bad ? "lowest" : "highest", grid_.side, grid_.side);
    }
    return out;
  }

  void draw_note(std::size_t i, std::string_view text) {
    page_.text(map_left_, notes_top_ + static_cast<double>(i) * line_px, text, Page::Anchor::start,
               "class=\"faint\"");
  }

  std::optional<std::size_t> shade_of(double value) const {
    if (std::isnan(value)) return std::nullopt;
    const double at = position(value, range_, map_.scale) * shades;
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
    const std::string place = fmt::format("x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\"", map_left_,
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

  // Dark on light shades and light on dark ones.
  void draw_figures() {
    const std::size_t nodes = map_.names.size();
    for (std::size_t i = 0; i < map_.values.size(); ++i) {
      const std::optional<std::size_t> shade = shade_of(map_.values[i]);
      if (!shade) continue;
      page_.text(map_left_ + offset(i % nodes) + node_px_ / 2,
                 map_top_ + offset(i / nodes) + node_px_ / 2 + small_px / 3, map_.figures[i],
                 Page::Anchor::middle,
                 fmt::format("fill=\"{}\" font-size=\"{}\"",
                             *shade < shades / 2 ? "#ffffff" : "#000000", small_px));
    }
  }

  // Of a figure that is a frame's, a paper-coloured line makes it stand out from any shade.
  void draw_frame(const Frame& frame) {
    const double inset = halo_px / 2;
    const auto shape = [&](std::string_view kind, double thickness) {
      page_.add(
          "<rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" class=\"{}\" "
          "fill=\"none\" stroke-width=\"{}\"/>\n",
          coordinate(map_left_ + offset(frame.first_column) + inset),
          coordinate(map_top_ + offset(frame.first_row) + inset),
          coordinate(std::max(offset(frame.columns) - halo_px, 1.0)),
          coordinate(std::max(offset(frame.rows) - halo_px, 1.0)), kind, thickness);
    };
    shape("rule", halo_px);
    shape("frame", frame_px);
  }

  double cells() const {
    return static_cast<double>(map_.names.size()) / static_cast<double>(grid_.side);
  }

  double offset(std::size_t node) const { return static_cast<double>(node) * node_px_; }

  void draw_names() {
    for (std::size_t i = 0; i < map_.names.size(); ++i) {
      const double middle = offset(i) + node_px_ / 2 + small_px / 3;
      small(map_left_ - 4, map_top_ + middle, both_ends(map_.names[i], most_node_name), false);
      small(map_left_ + middle, map_top_ - 4, both_ends(map_.names[i], most_node_name), true);
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
  double bracket_offset() const { return names_px_ + gap; }

  void draw_group(const Group& group) {
    const double first = offset(group.first);
    const double last = offset(group.first + group.count);
    const double left = map_left_ - bracket_offset();
    const double top = map_top_ - bracket_offset();
    const double inset = std::min(1.0, (last - first) / 4);
    page_.add("<path class=\"axis\" d=\"M{0} {1}h-{2}V{3}h{2}M{4} {5}v-{2}H{6}v{2}\"/>\n",
              coordinate(left), coordinate(map_top_ + first + inset), bracket_px,
              coordinate(map_top_ + last - inset), coordinate(map_left_ + first + inset),
              coordinate(top), coordinate(map_left_ + last - inset));
    for (const double at : {first, last}) {
      if (at <= 0 || at >= map_px_) continue;
      page_.line(map_left_, map_top_ + at, map_left_ + map_px_, map_top_ + at, "class=\"rule\"");
      page_.line(map_left_ + at, map_top_, map_left_ + at, map_top_ + map_px_, "class=\"rule\"");
    }
    if (last - first < least_row_px) return;
    const double middle = (first + last) / 2 + small_px / 3;
    const std::string name = both_ends(group.name, most_group_name);
    small(left - bracket_px - gap, map_top_ + middle, name, false);
    if (width_px(name, small_px) <= last - first) {
      page_.text(map_left_ + (first + last) / 2, top - bracket_px - gap, name, Page::Anchor::middle,
                 fmt::format("class=\"ink\" font-size=\"{}\"", small_px));
    } else {
      small(map_left_ + middle, top - bracket_px - gap, name, true);
    }
  }

  void draw_scale() {
    const double tall = std::max(map_px_ / 2, least_scale_px);
    const double step = tall / shades;
    page_.text(scale_left_, map_top_ + gap, both_ends(map_.unit, most_group_name));
    const double top = map_top_ + above_scale;
    for (std::size_t shade = 0; shade < shades; ++shade) {
      page_.add("<rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" fill=\"{}\"/>\n", scale_left_,
                coordinate(top + tall - static_cast<double>(shade + 1) * step), scale_width,
                coordinate(step + 0.3), colour_of(shade));
    }
    for (const Tick& tick : range_.ticks) {
      const double y = top + tall * (1 - position(tick.value, range_, map_.scale));
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
  double names_px_;   // for the nodes' names
  double groups_px_;  // for the brackets and the groups' names
  double map_left_;
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
