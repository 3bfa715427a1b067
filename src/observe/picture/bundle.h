#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <tuple>
#include <utility>
#include <vector>

#include "observe/picture/ring_layout.h"

namespace toprun::picture {

// Horizontal and vertical segments of lines. Some segments overlap.

// An infinite straight line on which segments lie: horizontal at a y, or vertical at an x.
struct Track {
  bool upright = false;
  double at = 0;
  auto operator<=>(const Track&) const = default;
};

class Stretches {
 public:
  void add(Point a, Point b);
  // Whether the segment from a to b shares more than an end point with a segment that was added.
  bool overlaps(Point a, Point b) const;

 private:
  std::map<Track, std::vector<std::pair<double, double>>> taken_;
};

// Combines overlapping parts of lines into one line with the sum of their counts.
class Bundles {
 public:
  void add(const Line& line);
  // Returns the parts, sorted by track. If a line has an arrow, its last part has the arrow.
  std::vector<Line> take();

 private:
  // The properties of lines that may be combined, because they look alike.
  struct Key {
    Track track;
    std::optional<std::size_t> crosses;
    bool unknown = false;
    auto operator<=>(const Key&) const = default;
  };
  struct Stretch {
    double from = 0, to = 0;
    std::size_t count = 0;
  };
  static void add_parts(const Key& key, const std::vector<Stretch>& stretches,
                        std::vector<Line>& lines);

  std::map<Key, std::vector<Stretch>> stretches_;
  std::map<std::tuple<double, double, double, Key>, std::size_t> ends_;  // x, from y, to y
};

}  // namespace toprun::picture
