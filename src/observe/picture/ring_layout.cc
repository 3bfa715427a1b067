#include "observe/picture/ring_layout.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <set>

#include "base/os/style.h"
#include "observe/picture/ring_route.h"
#include "observe/picture/ring_words.h"

namespace toprun::picture {
namespace {

constexpr std::size_t most_tries = 64;
// weight of unused area: two empty tenths count as much as a third too wide
constexpr double waste_weight = 1.5;

Packing in_rows(const std::vector<Size>& boxes, Spacing spacing, double row_width) {
  Packing packing;
  double x = 0;
  double row_height = 0;
  double y = spacing.above;
  for (std::size_t i = 0; i < boxes.size(); ++i) {
    const bool first = packing.rows.empty();
    if (first || x + boxes[i].width > row_width) {
      if (!first) y += row_height + spacing.above;
      packing.rows.push_back({y, i, 0});
      x = 0;
      row_height = 0;
    }
    packing.x.push_back(x);
    ++packing.rows.back().count;
    packing.size.width = std::max(packing.size.width, x + boxes[i].width);
    x += boxes[i].width + spacing.beside;
    row_height = std::max(row_height, boxes[i].height);
  }
  packing.size.height = boxes.empty() ? 0 : y + row_height;
  return packing;
}

// The possible row lengths if a row contains the first boxes.
std::vector<double> row_widths(const std::vector<Size>& boxes, double beside, double most_width) {
  std::set<double> widths;
  double width = -beside;
  for (const Size& box : boxes) {
    width += box.width + beside;
    if (width > most_width && !widths.empty()) break;
    widths.insert(width);
  }
  std::vector<double> some;
  const std::size_t step = std::max<std::size_t>(1, widths.size() / most_tries);
  std::size_t i = 0;
  for (const double each : widths) {
    if (i++ % step == 0 || i == widths.size()) some.push_back(each);
  }
  return some;
}

constexpr double canvas_margin = 24;
constexpr double left_margin = 30;   // of a frame: space for the lines that leave it
constexpr double right_margin = 14;  // also at the bottom
constexpr double title_height = 24;
constexpr double unit_padding = 9;
constexpr double line_height = 16;
constexpr double legend_row = 19;
constexpr double least_width = 600;
constexpr double page_shape = 1.6;  // width to height
constexpr double row_shape = 4.5;   // for a few units: in a single row the ring is a straight line
constexpr std::size_t few_units = 18;
constexpr std::array<std::size_t, 5> tried_columns = {1, 2, 3, 5, 8};  // of frames inside a frame
constexpr Spacing wide{28, 30};
constexpr Spacing narrow{16, 22};  // if boxes contain several nodes

// The inner dimensions of a frame or of the whole picture.
struct Measured {
  Packing units;
  Packing frames;  // below the units
  std::vector<Measured> inside;
  Size size;
  double used_area = 0;  // by units
};

class Builder {
 public:
  Builder(const Sketch& sketch, const std::string& order)
      : sketch_(sketch), order_(order), spacing_(sketch.folded() ? narrow : wide) {}

  RingLayout run() {
    layout_.units.resize(sketch_.units.size());
    stops_.resize(sketch_.units.size());
    for (std::size_t i = 0; i < sketch_.units.size(); ++i) fill_unit(i);
    set_unit_size();
    add_heading();
    add_legend();
    const Measured measured =
        measure(sketch_.whole, most_picture_width - 2 * (canvas_margin + margin_around));
    const Rect area{canvas_margin + margin_around, y_, measured.size.width, measured.size.height};
    trunks_.push_back({area, area.x - margin_around / 4, -lane_gap, {}, 0, 0});
    place(sketch_.whole, measured, {area.x, area.y}, 0, 0);
    y_ = area.bottom() + margin_around + line_height;
    layout_.lines = routes(sketch_, trunks_, stops_);
    add_notes();
    set_canvas(area);
    return std::move(layout_);
  }

 private:
  void fill_unit(std::size_t i) {
    const Unit& unit = sketch_.units[i];
    UnitBox& box = layout_.units[i];
    box.unknown = unit.unknown;
    box.start = sketch_.start == i;
    if (unit.teams && unit.teams->first == unit.teams->last) box.team = unit.teams->first;
    for (std::string& line : lines_of(sketch_, unit)) {
      box.lines.push_back({{},
                           std::move(line),
                           box.lines.empty() ? Style::name : Style::detail,
                           Text::Anchor::middle});
    }
    box.about = about(sketch_, unit);
  }

  void set_unit_size() {
    unit_ = {0, 0};
    std::size_t most_lines = 1;
    for (const UnitBox& unit : layout_.units) {
      most_lines = std::max(most_lines, unit.lines.size());
      for (const Text& text : unit.lines) unit_.width = std::max(unit_.width, width_of(text));
    }
    unit_.width = std::ceil(unit_.width) + 2 * unit_padding;
    unit_.height = static_cast<double>(most_lines) * line_height + unit_padding;
  }

  Measured measure(const Frame& frame, double most) const {
    const Packing units = pack(std::vector<Size>(frame.own, unit_), spacing_,
                               frame.own <= few_units ? row_shape : page_shape, most);
    std::optional<Measured> best;
    for (const std::size_t columns : tried_columns) {
      if (best && columns > frame.inside.size()) break;
      Measured measured = measure_inside(frame, most, columns);
      measured.units = units;
      measured.used_area += static_cast<double>(frame.own) * unit_.width * unit_.height;
      measured.size = {std::max(units.size.width, measured.frames.size.width),
                       units.size.height + measured.frames.size.height};
      if (!best || penalty(measured) < penalty(*best)) best = std::move(measured);
    }
    return *std::move(best);
  }

  static double penalty(const Measured& measured) {
    return picture::penalty(measured.size, measured.used_area, page_shape);
  }

  // The inner frames, each narrow enough for `columns` frames in a row.
  Measured measure_inside(const Frame& frame, double most, std::size_t columns) const {
    const double each = (most + spacing_.beside) / static_cast<double>(columns) - spacing_.beside;
    Measured measured;
    std::vector<Size> sizes;
    for (const Frame& inside : frame.inside) {
      measured.inside.push_back(measure(inside, each - left_margin - right_margin));
      measured.used_area += measured.inside.back().used_area;
      sizes.push_back(outer_size(inside, measured.inside.back().size));
    }
    measured.frames = pack(sizes, spacing_, page_shape, most);
    return measured;
  }

  // The size including the margins and the title.
  Size outer_size(const Frame& frame, Size inside) const {
    const double title = width_of({.text = title_of(sketch_, frame), .style = Style::name});
    return {left_margin + std::max(inside.width, std::ceil(title)) + right_margin,
            title_height + inside.height + right_margin};
  }

  // Places the content of a frame at the given corner. Inner frames follow the frame around them.
  void place(const Frame& frame, const Measured& measured, Point corner, std::size_t trunk,
             std::size_t depth) {
    for (const Row& row : measured.units.rows) {
      trunks_[trunk].channels.push_back(corner.y + row.y);
      for (std::size_t i = row.first; i < row.first + row.count; ++i) {
        const Rect box{corner.x + measured.units.x[i], corner.y + row.y, unit_.width, unit_.height};
        set_unit(frame.first + i, box);
        stops_[frame.first + i] = {box, trunk, trunks_[trunk].channels.size() - 1};
      }
    }
    const double below = corner.y + measured.units.size.height;
    for (const Row& row : measured.frames.rows) {
      trunks_[trunk].channels.push_back(below + row.y);
      for (std::size_t i = row.first; i < row.first + row.count; ++i) {
        place_frame(frame.inside[i], measured.inside[i],
                    {corner.x + measured.frames.x[i], below + row.y}, trunk, depth);
      }
    }
  }

  void place_frame(const Frame& frame, const Measured& measured, Point corner, std::size_t parent,
                   std::size_t depth) {
    const Size size = outer_size(frame, measured.size);
    const Rect box{corner.x, corner.y, size.width, size.height};
    layout_.frames.push_back(
        {box,
         frame.level,
         depth,
         !frame.name,
         {{corner.x + left_margin, corner.y + 17}, title_of(sketch_, frame), Style::name},
         whole_name_of(frame)});
    const std::size_t trunk = trunks_.size();
    trunks_.push_back({box,
                       corner.x + left_margin / 4,
                       lane_gap,
                       {},
                       parent,
                       trunks_[parent].channels.size() - 1});
    place(frame, measured, {corner.x + left_margin, corner.y + title_height}, trunk, depth + 1);
  }

  void set_unit(std::size_t i, const Rect& box) {
    UnitBox& unit = layout_.units[i];
    unit.box = box;
    const double text_height = static_cast<double>(unit.lines.size()) * line_height;
    double y = box.y + (box.height - text_height) / 2 + 12;
    for (Text& text : unit.lines) {
      text.at = {box.centre().x, y};
      y += line_height;
    }
  }

  void add_text(double x, std::string text, Style style,
                Text::Anchor anchor = Text::Anchor::start) {
    layout_.texts.push_back({{x, y_}, std::move(text), style, anchor});
  }

  void add_heading() {
    const std::vector<std::string> heading = heading_of(sketch_, order_);
    layout_.title = heading.front();
    y_ = canvas_margin + 18;
    add_text(canvas_margin, heading[0], Style::heading);
    y_ += 20;
    add_text(canvas_margin, heading[1], Style::plain);
    y_ += 10;
  }

  void add_legend() {
    if (sketch_.levels.empty()) return;
    constexpr double sample = 34;
    constexpr double figure = 74;
    const double name_x = canvas_margin + sample + 10;
    double names_end = name_x + 150;
    std::vector<std::string> names = {"stay in their " +
                                      level_words(sketch_, sketch_.levels.size() - 1)};
    for (std::size_t level = 0; level < sketch_.levels.size(); ++level) {
      names.push_back("leave their " + level_words(sketch_, level));
    }
    for (const std::string& name : names) {
      names_end = std::max(names_end, name_x + width_of({.text = name}));
    }
    y_ += legend_row;
    add_text(name_x, "steps of the ring that", Style::plain);
    const std::vector<std::string_view> heads = {"as given", "as drawn", "minimum"};
    for (std::size_t i = 0; i < heads.size(); ++i) {
      add_text(names_end + figure * static_cast<double>(i + 1), std::string(heads[i]), Style::plain,
               Text::Anchor::end);
    }
    for (std::size_t row = 0; row < names.size(); ++row) {
      y_ += legend_row;
      const auto level = row == 0 ? std::nullopt : std::optional(row - 1);
      layout_.keys.push_back({{canvas_margin, y_ - 4}, {canvas_margin + sample, y_ - 4}, level});
      add_text(name_x, names[row], Style::plain);
      const placement::Crossings& ring = level ? sketch_.ring[*level] : sketch_.ring.back();
      std::vector<std::size_t> figures = {ring.given, ring.ordered, ring.minimum};
      // The other steps of a ring, which has as many as nodes. What is least is what leaves.
      if (!level) {
        if (sketch_.nodes < 2 || std::ranges::any_of(sketch_.steps, &Step::unknown)) continue;
        figures = {sketch_.nodes - ring.given, sketch_.nodes - ring.ordered};
      }
      for (std::size_t i = 0; i < figures.size(); ++i) {
        add_text(names_end + figure * static_cast<double>(i + 1), fmt::format("{}", figures[i]),
                 Style::detail, Text::Anchor::end);
      }
    }
    y_ += 8;
  }

  void add_notes() {
    for (std::string& note : notes_of(sketch_)) {
      add_text(canvas_margin, std::move(note), Style::plain);
      y_ += legend_row;
    }
  }

  void set_canvas(const Rect& area) {
    layout_.width = std::max(least_width, area.right() + margin_around + canvas_margin);
    for (const Text& text : layout_.texts) {
      layout_.width = std::max(layout_.width, bounds_of(text).right() + canvas_margin);
    }
    layout_.width = std::ceil(layout_.width);
    layout_.height = std::ceil(y_ + canvas_margin - 8);
  }

  const Sketch& sketch_;
  const std::string& order_;
  RingLayout layout_;
  const Spacing spacing_;
  Size unit_;  // equal for all units
  std::vector<Trunk> trunks_;
  std::vector<Stop> stops_;
  double y_ = 0;  // y of the next text
};

}  // namespace

double penalty(Size size, double used_area, double shape) {
  if (size.width == 0 || size.height == 0) return 0;
  return std::abs(std::log(size.width / size.height / shape)) +
         waste_weight * std::max(0.0, 1 - used_area / (size.width * size.height));
}

Packing pack(const std::vector<Size>& boxes, Spacing spacing, double shape, double most_width) {
  double used = 0;
  for (const Size& box : boxes) {
    used += (box.width + spacing.beside) * (box.height + spacing.above);
  }
  std::optional<Packing> best;
  double least = 0;
  for (const double width : row_widths(boxes, spacing.beside, most_width)) {
    Packing packing = in_rows(boxes, spacing, width);
    const Size size{packing.size.width + spacing.beside, packing.size.height + spacing.above};
    const double bad = penalty(size, used, shape);
    if (best && bad >= least) continue;
    best = std::move(packing);
    least = bad;
  }
  return best.value_or(Packing{});
}

double width_of(const Text& text) {
  const auto count = static_cast<double>(columns_of(text.text));
  switch (text.style) {
    case Style::heading:
      return count * 20 * 0.62;
    case Style::plain:
      return count * 13 * 0.58;
    case Style::name:
    case Style::detail:
      break;
  }
  return count * 12 * 0.61;
}

Rect bounds_of(const Text& text) {
  const double width = width_of(text);
  const double height = text.style == Style::heading ? 20 : 12;
  const double moved = text.anchor == Text::Anchor::start    ? 0
                       : text.anchor == Text::Anchor::middle ? width / 2
                                                             : width;
  return {text.at.x - moved, text.at.y - height, width, height * 1.3};
}

RingLayout ring_layout(const Sketch& sketch, const std::string& order) {
  return Builder(sketch, order).run();
}

}  // namespace toprun::picture
