#pragma once

#include <vector>

#include "view/ring_layout.h"

namespace toprun::view {

// The lines of the ring, which cross no text and no box: they follow the traffic's way along the
// tree of domains.
//
// Each frame has a *trunk*, upright in its left margin, and above each row of boxes a *channel*.
// A line leaves a box upwards into the channel above it, follows that to the trunk, the trunk out
// of the frame into the channel above the frame, and so on, until it is in the frame that holds
// both ends; there the same way inwards. Only from a unit to the one that stands behind it, and
// from the last to the first, a line takes the short way through the gaps, so that an order that
// follows the boxes is one tidy line.
//
// A few lines keep lanes of their own in each channel and trunk; more than max_single_lines share
// one for each level that they cross, and parts in common are one wide line.

inline constexpr std::size_t max_single_lines = 20;
inline constexpr std::size_t max_lanes = 5;
inline constexpr double lane_gap = 4;      // pixels
inline constexpr double room_around = 40;  // of all boxes, for trunks and the line that closes

struct Trunk {
  Rect box;                      // of the frame, or of all that is inside the picture
  double x = 0;                  // of its first lane
  double lane_step = 0;          // to the next
  std::vector<double> channels;  // upper edges of the rows below them
  std::size_t parent = 0;        // its own index: the whole picture's
  std::size_t row = 0;           // of the parent's, in which the frame stands
};

// A unit: its box, the frame around it, and in which row there.
struct Stop {
  Rect box;
  std::size_t trunk = 0;
  std::size_t row = 0;
};

// `trunks`: each behind its parent; the first is the whole picture's. `stops`: as sketch.units.
std::vector<Line> routes(const view::Sketch& sketch, const std::vector<Trunk>& trunks,
                         const std::vector<Stop>& stops);

}  // namespace toprun::view
