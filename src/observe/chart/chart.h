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
  std::string unit;  // "B": ticks are in KiB, MiB …; other units follow the label
  Scale scale = Scale::linear;
};

// How far the measured values are spread around their mean.
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
  std::vector<Point> points;  // the line connects the points in this order
};

// A value of y that the chart shows as a horizontal line, such as a link's rate.
struct Limit {
  std::string name;
  double y = 0;
};

// Texts may contain any characters. They are escaped, and shortened if the picture has no room for
// them.
struct LineChart {
  std::string title;
  Axis x;
  Axis y;
  std::vector<Series> series;
  std::vector<Limit> limits;
  std::vector<std::string> notes;  // one line each, below the chart
};

// Each series has its own combination of colour, dashes and marker.
inline constexpr std::size_t most_series = 12;
inline constexpr std::size_t most_limits = 4;
inline constexpr std::size_t most_points = 100'000;  // of all series

// Draws an SVG picture, 900 pixels wide, with about 20 bytes per point. The picture follows the
// reader's light or dark scheme. A series has at most 40 markers. Errors: no points; more series,
// limits or points than these constants allow; a value that is not finite, or not positive on a
// logarithmic axis.
Result<std::string> svg(const LineChart& chart);

}  // namespace toprun::chart
