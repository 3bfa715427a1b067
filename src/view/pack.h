#pragma once

#include <cstddef>
#include <vector>

namespace toprun::view {

// Boxes side by side in rows, from left to right and from top to bottom, in CSS pixels.

struct Size {
  double width = 0;
  double height = 0;
};

struct Row {
  double y = 0;  // of its boxes' upper edges
  std::size_t first = 0;
  std::size_t count = 0;
};

struct Packing {
  std::vector<double> x;  // of each box
  std::vector<Row> rows;
  Size size;
};

struct Spacing {
  double beside = 0;  // between two boxes of a row
  double above = 0;   // each row, the first one too
};

// How far something is from `shape` (width to height), and how much of its area is not used; 0 at
// best.
double badness(Size size, double used_area, double shape);

// In rows of such a length that the whole is least bad, and no wider than `most_width`, unless a
// single box is.
Packing pack(const std::vector<Size>& boxes, Spacing spacing, double shape, double most_width);

}  // namespace toprun::view
