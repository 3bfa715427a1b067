#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "base/text/error.h"
#include "observe/chart/axis.h"

namespace toprun::chart {

// Neighbours in the order of names, such as the nodes of a rack.
struct Group {
  std::string name;
  std::size_t first = 0;
  std::size_t count = 0;
};

// Cells that are framed: whole rows, whole columns, or those where both meet.
struct Frame {
  std::size_t first_row = 0;
  std::size_t rows = 0;
  std::size_t first_column = 0;
  std::size_t columns = 0;
};

// A figure per two nodes: the row's to the column's.
struct HeatMap {
  std::string title;
  std::vector<std::string> names;
  std::vector<Group> groups;         // without overlaps; they need not cover all names
  std::vector<double> values;        // row by row, names² of them; NaN: not measured
  std::vector<std::string> figures;  // the values in words, for cells with room for them; or none
  std::vector<Frame> frames;         // of what was found
  std::string unit;
  Scale scale = Scale::linear;  // logarithmic: values are > 0
  bool low_is_bad = true;       // where cells are merged, the worst figure shows
  std::vector<std::string> notes;
};

inline constexpr std::size_t most_nodes = 1000;
inline constexpr std::size_t most_groups = 250;
inline constexpr std::size_t most_frames = 100;
// Cells of so many nodes have room for their figures.
inline constexpr std::size_t most_with_figures = 16;
// Of more nodes, squares of pairs become one cell.
inline constexpr std::size_t most_cells_across = 250;
// No picture is larger, its title and notes aside: a cell takes at most 12 bytes, and neighbours of
// a shade share one.
inline constexpr std::size_t most_bytes = std::size_t{1} << 20;

// A picture at most 900 pixels wide. Shades run from dark violet to yellow and grow lighter with
// the figure, so that they can be told apart without seeing colours; their scale spans a factor of
// two or more, so that noise does not look like a difference. Pairs that were not measured are
// hatched. Names stand beside the rows where there is room, those of groups from one end to the
// other of a bracket.
// Errors: fewer than two nodes or more than most_nodes; too few or too many values; an infinite
// one, or one that is not positive on a logarithmic scale; nothing measured; groups or frames
// beyond the names or too many.
Result<std::string> svg(const HeatMap& map);

}  // namespace toprun::chart
