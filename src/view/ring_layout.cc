#include "view/ring_layout.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "view/markup.h"
#include "view/ring_route.h"
#include "view/ring_words.h"

namespace toprun::view {
namespace {

using placement::Frame;
using placement::Sketch;
using placement::Unit;

constexpr double canvas_margin = 24;
constexpr double way_back = 40;  // room around the boxes for the line that closes the ring
constexpr double unit_gap = 28;
constexpr double frame_gap = 28;
constexpr double padding = 20;
constexpr double title_height = 24;
constexpr double unit_padding = 9;
constexpr double line_height = 16;
constexpr double legend_row = 19;
constexpr double least_width = 600;
constexpr double page_shape = 1.8;  // width to height
constexpr double row_shape = 4.5;   // of a few units: in one row the ring is a straight line
constexpr std::size_t few = 18;

// Things side by side in rows from left to right.
struct Packing {
  std::vector<Point> at;
  double width = 0;
  double height = 0;
};

Packing in_rows(const std::vector<Rect>& sizes, std::size_t columns, double gap) {
  Packing packing;
  double y = 0;
  for (std::size_t first = 0; first < sizes.size(); first += columns) {
    double x = 0;
    double height = 0;
    for (std::size_t i = first; i < std::min(first + columns, sizes.size()); ++i) {
      packing.at.push_back({x, y});
      x += sizes[i].width + gap;
      height = std::max(height, sizes[i].height);
    }
    packing.width = std::max(packing.width, x - gap);
    y += height + gap;
  }
  packing.height = std::max(0.0, y - gap);
  return packing;
}

// In rows of one length rather than with a ragged end, and of the shape asked for: width to height.
Packing packed(const std::vector<Rect>& sizes, double gap, double shape) {
  constexpr double ragged = 3;
  Packing best;
  double best_badness = 0;
  for (std::size_t columns = 1; columns <= sizes.size(); ++columns) {
    Packing packing = in_rows(sizes, columns, gap);
    const std::size_t places = (sizes.size() + columns - 1) / columns * columns;
    const auto empty = static_cast<double>(places - sizes.size());
    const double badness =
        std::abs(std::log((packing.width + gap) / (packing.height + gap) / shape)) +
        ragged * empty / static_cast<double>(places);
    if (best.at.empty() || badness < best_badness) {
      best = std::move(packing);
      best_badness = badness;
    }
  }
  return best;
}

class Builder {
 public:
  Builder(const Sketch& sketch, const std::string& order) : sketch_(sketch), order_(order) {}

  RingLayout run() {
    layout_.units.resize(sketch_.units.size());
    for (std::size_t i = 0; i < sketch_.units.size(); ++i) fill_unit(i);
    set_unit_size();
    add_heading();
    add_legend();
    const Point corner{canvas_margin + way_back, y_ + way_back / 2};
    area_ = {corner.x, corner.y, 0, 0};
    const Size size = place_inside(sketch_.whole, corner, 0);
    area_.width = size.width;
    area_.height = size.height;
    y_ = area_.bottom() + way_back + line_height;
    layout_.lines = routes(sketch_, unit_rects(), frames_of_units(), area_);
    add_notes();
    set_canvas();
    return std::move(layout_);
  }

 private:
  struct Size {
    double width = 0;
    double height = 0;
  };

  void fill_unit(std::size_t i) {
    const Unit& unit = sketch_.units[i];
    UnitBox& box = layout_.units[i];
    box.unknown = unit.unknown;
    box.start = sketch_.start == i;
    for (std::string& line : lines_of(sketch_, unit)) {
      box.lines.push_back({{},
                           std::move(line),
                           box.lines.empty() ? Style::name : Style::detail,
                           Text::Anchor::middle});
    }
    box.about = about(sketch_, unit);
  }

  void set_unit_size() {
    unit_ = {0, 0, 0, 0};
    std::size_t most_lines = 1;
    for (const UnitBox& unit : layout_.units) {
      most_lines = std::max(most_lines, unit.lines.size());
      for (const Text& text : unit.lines) unit_.width = std::max(unit_.width, width_of(text));
    }
    unit_.width = std::ceil(unit_.width) + 2 * unit_padding;
    unit_.height = static_cast<double>(most_lines) * line_height + unit_padding;
  }

  // Measured and placed in one go, at the top left corner given; frames inside come behind the
  // frame around them, which is filled in at the end.
  Size place_inside(const Frame& frame, Point corner, std::size_t depth) {
    const Size units = place_units(frame, corner);
    if (frame.inside.empty()) return units;
    std::vector<Rect> sizes;
    std::vector<Extent> extents;
    for (const Frame& inside : frame.inside) {
      extents.push_back({layout_.frames.size(), 0, inside.first, 0});
      const Size size = place_frame(inside, {0, 0}, depth);
      extents.back().frames_end = layout_.frames.size();
      extents.back().units_end = placed_units_;
      sizes.push_back({0, 0, size.width, size.height});
    }
    const Packing packing = packed(sizes, frame_gap, page_shape);
    const double below = frame.own == 0 ? 0 : units.height + frame_gap;
    for (std::size_t i = 0; i < extents.size(); ++i) {
      move(extents[i], {corner.x + packing.at[i].x, corner.y + below + packing.at[i].y});
    }
    return {std::max(units.width, packing.width), below + packing.height};
  }

  Size place_units(const Frame& frame, Point corner) {
    const Packing packing = packed(std::vector<Rect>(frame.own, unit_), unit_gap,
                                   frame.own <= few ? row_shape : page_shape);
    for (std::size_t i = 0; i < frame.own; ++i) {
      set_unit(frame.first + i, {corner.x + packing.at[i].x, corner.y + packing.at[i].y});
    }
    placed_units_ = std::max(placed_units_, frame.first + frame.own);
    return {packing.width, packing.height};
  }

  void set_unit(std::size_t i, Point corner) {
    UnitBox& unit = layout_.units[i];
    unit.box = {corner.x, corner.y, unit_.width, unit_.height};
    const double text_height = static_cast<double>(unit.lines.size()) * line_height;
    double y = corner.y + (unit_.height - text_height) / 2 + 12;
    for (Text& text : unit.lines) {
      text.at = {corner.x + unit_.width / 2, y};
      y += line_height;
    }
  }

  Size place_frame(const Frame& frame, Point corner, std::size_t depth) {
    const std::size_t index = layout_.frames.size();
    layout_.frames.push_back(frame_box(frame, depth));
    const Size inside =
        place_inside(frame, {corner.x + padding, corner.y + title_height + padding / 2}, depth + 1);
    FrameBox& box = layout_.frames[index];
    box.title.at = {corner.x + 10, corner.y + 17};
    box.box = {corner.x, corner.y,
               std::max(inside.width + 2 * padding, std::ceil(width_of(box.title)) + 20),
               inside.height + title_height + padding / 2 + padding};
    return {box.box.width, box.box.height};
  }

  FrameBox frame_box(const Frame& frame, std::size_t depth) const {
    FrameBox box;
    box.level = frame.level;
    box.depth = depth;
    box.unknown = !frame.name;
    box.title = {{}, title_of(sketch_, frame), Style::name};
    box.whole_name = whole_name_of(frame);
    return box;
  }

  // What a frame holds, itself included: ranges of frames and units.
  struct Extent {
    std::size_t frames = 0, frames_end = 0;
    std::size_t units = 0, units_end = 0;
  };

  void move(const Extent& extent, Point by) {
    for (std::size_t i = extent.frames; i < extent.frames_end; ++i) {
      FrameBox& frame = layout_.frames[i];
      frame.box.x += by.x;
      frame.box.y += by.y;
      frame.title.at.x += by.x;
      frame.title.at.y += by.y;
    }
    for (std::size_t i = extent.units; i < extent.units_end; ++i) {
      const Rect box = layout_.units[i].box;
      set_unit(i, {box.x + by.x, box.y + by.y});
    }
  }

  std::vector<Rect> unit_rects() const {
    std::vector<Rect> rects;
    for (const UnitBox& unit : layout_.units) rects.push_back(unit.box);
    return rects;
  }

  // The frames around each unit, outermost first. Frames stand in the order of their walk.
  std::vector<std::vector<Rect>> frames_of_units() const {
    std::vector<std::vector<Rect>> around(layout_.units.size());
    std::size_t next = 0;
    std::vector<Rect> path;
    add_frames(sketch_.whole, next, path, around);
    return around;
  }

  void add_frames(const Frame& frame, std::size_t& next, std::vector<Rect>& path,
                  std::vector<std::vector<Rect>>& around) const {
    for (std::size_t i = 0; i < frame.own; ++i) around[frame.first + i] = path;
    for (const Frame& inside : frame.inside) {
      path.push_back(layout_.frames[next++].box);
      add_frames(inside, next, path, around);
      path.pop_back();
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
      if (!level) continue;
      const placement::Crossings& ring = sketch_.ring[*level];
      const std::vector<std::size_t> figures = {ring.given, ring.ordered, ring.minimum};
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

  void set_canvas() {
    layout_.width = std::max(least_width, area_.right() + way_back + canvas_margin);
    for (const Text& text : layout_.texts) {
      layout_.width = std::max(layout_.width, bounds_of(text).right() + canvas_margin);
    }
    layout_.width = std::ceil(layout_.width);
    layout_.height = std::ceil(y_ + canvas_margin - 8);
  }

  const Sketch& sketch_;
  const std::string& order_;
  RingLayout layout_;
  Rect unit_;  // the size of all units
  Rect area_;  // of all boxes
  std::size_t placed_units_ = 0;
  double y_ = 0;  // where the next text goes
};

}  // namespace

double width_of(const Text& text) {
  const auto count = static_cast<double>(columns(text.text));
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

RingLayout ring_layout(const placement::Sketch& sketch, const std::string& order) {
  return Builder(sketch, order).run();
}

}  // namespace toprun::view
