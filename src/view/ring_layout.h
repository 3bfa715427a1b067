#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "view/sketch.h"

namespace toprun::view {

// Where everything of a picture stands, in CSS pixels from the top left corner; what it looks like
// is the drawing's affair (ring_svg.h).

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
  heading,  // proportional, bold, large
  plain,    // proportional
  name,     // fixed width, bold
  detail,   // fixed width
};

// A line of text: `at` is the left end of its base line; a text that is centred or at the right is
// moved by the width that is expected of it.
struct Text {
  Point at{};
  std::string text;  // clean
  Style style = Style::plain;
  enum class Anchor { start, middle, end } anchor = Anchor::start;
};

// Pixels that a text takes at most; for proportional fonts, about.
double width_of(const Text& text);
Rect bounds_of(const Text& text);

struct FrameBox {
  Rect box;
  std::optional<std::size_t> level;
  std::size_t depth = 0;  // how many frames are around it
  bool unknown = false;
  Text title;
  std::string whole_name;  // clean; empty: the title has it all
};

struct UnitBox {
  Rect box;
  bool unknown = false;
  bool start = false;               // the ring begins here
  std::optional<std::size_t> team;  // that it is coloured by
  std::vector<Text> lines;
  std::string about;  // clean; what does not fit into the box
};

// A line of the ring from the edge of one unit to the edge of another, or a part of several lines
// that are drawn as one.
struct Line {
  std::vector<Point> points;  // corners; all ways are level or upright
  std::optional<std::size_t> crosses;
  bool unknown = false;
  std::size_t count = 1;  // steps of the ring that take it
  bool arrow = true;      // at its end
};

// A sample of a line in the legend.
struct Key {
  Point from, to;
  std::optional<std::size_t> level;
};

inline constexpr double most_width = 2'000;  // of a picture, if one box and its frames fit

struct RingLayout {
  double width = 0;
  double height = 0;
  std::string title;             // clean
  std::vector<FrameBox> frames;  // those around others first
  std::vector<UnitBox> units;    // as in the sketch
  std::vector<Line> lines;
  std::vector<Key> keys;
  std::vector<Text> texts;  // heading, legend, notes
};

// `order`: what order it is, in words, as "topology order".
RingLayout ring_layout(const view::Sketch& sketch, const std::string& order);

}  // namespace toprun::view
