#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "observe/picture/sketch.h"

namespace toprun::picture {

// Arranges boxes in rows, from left to right and from top to bottom, in CSS pixels.

struct Size {
  double width = 0;
  double height = 0;
};

struct Row {
  double y = 0;  // upper edge of the row's boxes
  std::size_t first = 0;
  std::size_t count = 0;
};

struct Packing {
  std::vector<double> x;  // one per box
  std::vector<Row> rows;
  Size size;
};

struct Spacing {
  double beside = 0;  // distance between two boxes in a row
  double above = 0;   // distance above each row, including the first
};

// Returns a penalty for unused area, and for a ratio of width to height that differs from `shape`.
// 0 is the optimum.
double penalty(Size size, double used_area, double shape);

// Arranges the boxes in rows, and chooses the row length with the lowest penalty(). The width is at
// most `most_width`, unless a single box is wider.
Packing pack(const std::vector<Size>& boxes, Spacing spacing, double shape, double most_width);

// The positions of all elements of a picture, in CSS pixels from the top left corner. ring_svg.h
// defines their appearance.

struct Point {
  double x = 0;
  double y = 0;
};

struct Rect {
  double x = 0;
  double y = 0;
  double width = 0;
  double height = 0;
  double right() const { return x + width; }
  double bottom() const { return y + height; }
  Point centre() const { return {x + width / 2, y + height / 2}; }
};

enum class Style {
  heading,  // proportional font, bold, large
  plain,    // proportional font
  name,     // fixed-width font, bold
  detail,   // fixed-width font
};

// A line of text. The text starts at the point `at`, has its middle there, or ends there, according
// to `anchor`.
struct Text {
  Point at{};
  std::string text;  // clean
  Style style = Style::plain;
  enum class Anchor { start, middle, end } anchor = Anchor::start;
};

// Returns the maximum width of a text in pixels; approximate for proportional fonts.
double width_of(const Text& text);
Rect bounds_of(const Text& text);

struct FrameBox {
  Rect box;
  std::optional<std::size_t> level;
  std::size_t depth = 0;  // number of frames around this frame
  bool unknown = false;
  Text title;
  std::string whole_name;  // clean; empty: the title contains the complete name
};

struct UnitBox {
  Rect box;
  bool unknown = false;
  bool start = false;               // the first unit of the ring
  std::optional<std::size_t> team;  // determines the box's colour
  std::vector<Text> lines;
  std::string about;  // clean; additional text that does not fit into the box
};

// A line of the ring from the edge of one unit to the edge of another, or a part that several lines
// share.
struct Line {
  std::vector<Point> points;  // corners; all segments are horizontal or vertical
  std::optional<std::size_t> crosses;
  bool unknown = false;
  std::size_t count = 1;  // number of ring steps along the line
  bool arrow = true;      // true: the line has an arrow at its end
};

// A sample line in the legend.
struct Key {
  Point from, to;
  std::optional<std::size_t> level;
};

inline constexpr double most_picture_width = 2'000;  // the maximum width, unless one box and its
                                                     // frames are wider

struct RingLayout {
  double width = 0;
  double height = 0;
  std::string title;             // clean
  std::vector<FrameBox> frames;  // outer frames before inner ones
  std::vector<UnitBox> units;    // same order as in the sketch
  std::vector<Line> lines;
  std::vector<Key> keys;
  std::vector<Text> texts;  // heading, legend, notes
};

// Computes the layout of a sketch. `order`: the order's name, such as "topology order".
RingLayout ring_layout(const Sketch& sketch, const std::string& order);

}  // namespace toprun::picture
