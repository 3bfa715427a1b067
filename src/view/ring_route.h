#pragma once

#include <vector>

#include "view/ring_layout.h"

namespace toprun::view {

// The lines of the ring. From a unit to the one that stands behind it the line keeps to the gaps
// between the boxes, and so does the one from the last unit back to the first, outside `area`,
// which holds all boxes: an order that follows the boxes is one tidy line. All other ways are
// curves that bend to a side of their own in each direction, behind the boxes.
//
// `frames[i]`: the frames around unit i, outermost first. At least 30 pixels are free around
// `area`, 15 above it.
std::vector<Line> routes(const placement::Sketch& sketch, const std::vector<Rect>& units,
                         const std::vector<std::vector<Rect>>& frames, const Rect& area);

}  // namespace toprun::view
