#pragma once

#include <vector>

#include "observe/picture/ring_layout.h"

namespace toprun::picture {

// The lines of the ring. No line crosses a text or a box, because lines follow the tree of domains,
// as the traffic does.
//
// Each frame has a vertical *trunk* in its left margin and a *channel* above each row of boxes. A
// line leaves a box upwards into the channel above the box and follows the channel to the trunk.
// The line follows the trunk out of the frame, into the channel above the frame. The line leaves
// further frames in this way, until it is in the frame that contains both of its ends. From there,
// it goes inwards in the same way. There are two exceptions: from a unit to the next unit, and from
// the last unit to the first, a line takes the short way through the gaps. So a ring that visits
// the boxes from the first to the last is one simple line.
//
// Up to max_single_lines lines run side by side in each channel and trunk, each in its own lane. If
// there are more lines, all lines that cross the same level of domains share a lane, and their
// common parts become one wide line.

inline constexpr std::size_t max_single_lines = 20;
inline constexpr std::size_t max_lanes = 5;
inline constexpr double lane_gap = 4;  // pixels
// The space around all boxes, for trunks and the line that closes the ring.
inline constexpr double margin_around = 40;

struct Trunk {
  Rect box;                      // the frame's box, or the box of the picture's whole content
  double x = 0;                  // position of the trunk's first lane
  double lane_step = 0;          // distance to the next lane
  std::vector<double> channels;  // for each channel: the upper edge of the row below it
  std::size_t parent = 0;        // index of the parent's trunk; for the whole picture, the trunk's
                                 // own index
  std::size_t row = 0;           // the row of the parent that contains the frame
};

// A unit (a small box) on the ring. It has its box, the frame around it, and its row in that frame.
struct Stop {
  Rect box;
  std::size_t trunk = 0;
  std::size_t row = 0;
};

// Computes the lines of the ring. `trunks`: parents before children; the first trunk belongs to the
// whole picture. `stops`: same order as sketch.units.
std::vector<Line> routes(const Sketch& sketch, const std::vector<Trunk>& trunks,
                         const std::vector<Stop>& stops);

}  // namespace toprun::picture
