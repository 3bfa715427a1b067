#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "base/text/error.h"
#include "observe/chart/axis.h"

namespace toprun::chart {

// A group of consecutive names in the map's list of names, such as the nodes of a rack.
struct Group {
  std::string name;
  std::size_t first = 0;
  std::size_t count = 0;
};

// Cells with a frame: whole rows, whole columns, or the cells where rows and columns meet.
struct Frame {
  std::size_t first_row = 0;
  std::size_t rows = 0;
  std::size_t first_column = 0;
  std::size_t columns = 0;
};

// A value for each pair of nodes, from the row's node to the column's node.
struct HeatMap {
  std::string title;
  std::vector<std::string> names;
  std::vector<Group> groups;         // do not overlap; need not cover all names
  std::vector<double> values;        // row by row, names² values; NaN: not measured
  std::vector<std::string> figures;  // the values as texts, for cells with enough room; may be
                                     // empty
  std::vector<Frame> frames;         // frames around the cells of the findings
  std::string unit;
  Scale scale = Scale::linear;  // logarithmic: values are > 0
  bool low_is_bad = true;       // a merged cell shows its worst value
  std::vector<std::string> notes;
};

inline constexpr std::size_t most_nodes = 1000;
inline constexpr std::size_t most_groups = 250;
inline constexpr std::size_t most_frames = 100;
// In a map with more nodes than this, cells have no room for their values.
inline constexpr std::size_t most_with_figures = 16;
// In a map with more nodes than this, each cell stands for a square block of several node pairs.
inline constexpr std::size_t most_cells_across = 250;
// The maximum size of a picture in bytes, not counting its title and notes. A cell takes at most 12
// bytes, and adjacent cells with the same shade share one SVG element.
inline constexpr std::size_t most_bytes = std::size_t{1} << 20;

// Draws a picture at most 900 pixels wide. Shades become lighter as the value grows, from dark
// violet to yellow, so that they differ in greyscale too. A logarithmic scale spans at least a
// factor of two, so that noise does not look like a difference. Pairs that were not measured are
// hatched. Names are beside rows and columns if there is room. Each group has a bracket with its
// name. Errors: fewer than two nodes or more than most_nodes; too few or too many values; no
// measured value; an infinite value, or on a logarithmic scale a value that is not positive; too
// many groups or frames, or a group or frame outside the names.
Result<std::string> svg(const HeatMap& map);

}  // namespace toprun::chart
