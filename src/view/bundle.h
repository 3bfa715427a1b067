#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <tuple>
#include <utility>
#include <vector>

#include "view/ring_layout.h"

namespace toprun::view {

// Horizontal and vertical stretches of lines that may overlap.

// The straight line that stretches lie on: horizontal at a y, or vertical at an x.
struct Track {
  bool upright = false;
  double at = 0;
  auto operator<=>(const Track&) const = default;
};

class Stretches {
 public:
  void add(Point a, Point b);
  // Whether one of them has more than an end in common with this.
  bool meets(Point a, Point b) const;

 private:
  std::map<Track, std::vector<std::pair<double, double>>> taken_;
};

// Merges the overlapping parts of lines and adds up their counts.
class Bundles {
 public:
  void add(const Line& line);
  // The parts, by track; those at the end of a line have its arrow.
  std::vector<Line> take();

 private:
  // What may be one line: drawn alike.
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

}  // namespace toprun::view
