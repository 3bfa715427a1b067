#pragma once

#include <vector>

#include "observe/picture/ring_layout.h"

namespace toprun::picture {

// The lines of the ring. No line crosses a text or a box: the lines follow the tree of domains,
// like the traffic.
//
// Each frame has a vertical *trunk* in its left margin and a *channel* above each row of boxes. A
// line leaves a box upwards into the channel above it, follows the channel to the trunk, and the
// trunk out of the frame into the channel above the frame, and so on until the frame that contains
// both ends; from there it goes inwards in the same way. There are two exceptions: from a unit to
// the next one, and from the last unit to the first, a line takes the short way through the gaps.
// So an order that follows the boxes is one simple line.
//
// Up to max_single_lines lines have separate lanes in each channel and trunk. If there are more,
// all lines that cross the same level share a lane, and common parts become one wide line.

inline constexpr std::size_t max_single_lines = 20;
inline constexpr std::size_t max_lanes = 5;
inline constexpr double lane_gap = 4;  // pixels
// around all boxes, for trunks and the line that closes the ring
inline constexpr double margin_around = 40;

struct Trunk {
  Rect box;                      // of the frame, or of the whole content of the picture
  double x = 0;                  // position of its first lane
  double lane_step = 0;          // to the next
  std::vector<double> channels;  // upper edges of the rows below them
  std::size_t parent = 0;        // index; its own index for the whole picture
  std::size_t row = 0;           // the row of the parent that contains the frame
};

// A unit: its box, the frame around it, and its row in that frame.
struct Stop {
  Rect box;
  std::size_t trunk = 0;
  std::size_t row = 0;
};

// `trunks`: parents before children; the first is that of the whole picture. `stops`: same order as
// sketch.units.
std::vector<Line> routes(const Sketch& sketch, const std::vector<Trunk>& trunks,
                         const std::vector<Stop>& stops);

}  // namespace toprun::picture
