#pragma once

#include <cstddef>
#include <vector>

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

// A penalty for unused area, and for a ratio of width to height that differs from `shape`; 0 is the
// optimum.
double penalty(Size size, double used_area, double shape);

// Selects the length of rows for which the whole arrangement has the lowest penalty. The width is
// at most `most_width`, unless a single box is wider.
Packing pack(const std::vector<Size>& boxes, Spacing spacing, double shape, double most_width);

}  // namespace toprun::picture
