#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "base/text/error.h"
#include "observe/chart/axis.h"

namespace toprun::chart {

struct Axis {
  std::string label;
  std::string unit;  // "B": ticks are in KiB, MiB …; others stand behind the label
  Scale scale = Scale::linear;
};

// The spread of a figure around its mean.
struct Spread {
  double low = 0;
  double high = 0;
};

struct Point {
  double x = 0;
  double y = 0;
  std::optional<Spread> spread = {};  // drawn as a bar
};

struct Series {
  std::string name;
  std::vector<Point> points;  // joined in this order
};

// A value of y that is drawn across, such as a link's rate.
struct Limit {
  std::string name;
  double y = 0;
};

// All texts may be anything: they are escaped, and shortened where there is no room.
struct LineChart {
  std::string title;
  Axis x;
  Axis y;
  std::vector<Series> series;
  std::vector<Limit> limits;
  std::vector<std::string> notes;  // one line each, below
};

// Each series has its own mix of colour, dashes and marker; no more can be told apart.
inline constexpr std::size_t most_series = 12;
inline constexpr std::size_t most_limits = 4;
inline constexpr std::size_t most_points = 100'000;  // of all series

// A picture 900 pixels wide, of some 20 bytes per point, which follows the reader's light or dark
// scheme. Markers stand on at most 40 points of a series.
// Errors: no point at all; more than the bounds above; a figure that is not finite, or not
// positive on a logarithmic axis.
Result<std::string> svg(const LineChart& chart);

}  // namespace toprun::chart
