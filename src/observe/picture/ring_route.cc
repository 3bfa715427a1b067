#include "observe/picture/ring_route.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <map>
#include <optional>
#include <tuple>
#include <utility>
#include <vector>

#include "observe/picture/ring_layout.h"

namespace toprun::picture {
namespace {

// Horizontal and vertical segments of lines. Some segments overlap.

// An infinite straight line on which segments lie: horizontal at a y, or vertical at an x.
struct Track {
  bool upright = false;
  double at = 0;
  auto operator<=>(const Track&) const = default;
};

Track track_of(Point a, Point b) {
  return a.x == b.x ? Track{true, a.x} : Track{false, a.y};
}

std::pair<double, double> extent_of(Point a, Point b) {
  return a.x == b.x ? std::minmax({a.y, b.y}) : std::minmax({a.x, b.x});
}

Point point_on(const Track& track, double along) {
  return track.upright ? Point{track.at, along} : Point{along, track.at};
}

class Stretches {
 public:
  void add(Point a, Point b) { taken_[track_of(a, b)].push_back(extent_of(a, b)); }
  // Whether the segment from a to b shares more than an end point with a segment that was added.
  bool overlaps(Point a, Point b) const {
    const auto track = taken_.find(track_of(a, b));
    if (track == taken_.end()) return false;
    const auto [from, to] = extent_of(a, b);
    return std::ranges::any_of(
        track->second, [&](const auto& taken) { return taken.first < to && from < taken.second; });
  }

 private:
  std::map<Track, std::vector<std::pair<double, double>>> taken_;
};

// Combines overlapping parts of lines into one line with the sum of their counts.
class Bundles {
 public:
  void add(const Line& line) {
    for (std::size_t i = 1; i + 1 < line.points.size(); ++i) {
      const Point a = line.points[i - 1];
      const Point b = line.points[i];
      if (a.x == b.x && a.y == b.y) continue;
      const auto [from, to] = extent_of(a, b);
      stretches_[{track_of(a, b), line.crosses, line.unknown}].push_back({from, to, line.count});
    }
    const Point before = line.points[line.points.size() - 2];
    const Point end = line.points.back();
    ends_[{end.x, before.y, end.y, {track_of(before, end), line.crosses, line.unknown}}] +=
        line.count;
  }
  // Returns the parts, sorted by track. If a line has an arrow, its last part has the arrow.
  std::vector<Line> take() {
    std::vector<Line> lines;
    for (const auto& [key, stretches] : stretches_) add_parts(key, stretches, lines);
    for (const auto& [end, count] : ends_) {
      const auto& [x, from, to, key] = end;
      lines.push_back({{{x, from}, {x, to}}, key.crosses, key.unknown, count, true});
    }
    stretches_.clear();
    ends_.clear();
    return lines;
  }

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
  // The number of overlapping lines changes only at the ends of stretches.
  static void add_parts(const Key& key, const std::vector<Stretch>& stretches,
                        std::vector<Line>& lines) {
    std::map<double, std::ptrdiff_t> changes;
    for (const Stretch& stretch : stretches) {
      changes[stretch.from] += static_cast<std::ptrdiff_t>(stretch.count);
      changes[stretch.to] -= static_cast<std::ptrdiff_t>(stretch.count);
    }
    std::ptrdiff_t count = 0;
    double from = 0;
    for (const auto& [at, change] : changes) {
      if (change == 0) continue;
      if (count > 0) {
        lines.push_back({{point_on(key.track, from), point_on(key.track, at)},
                         key.crosses,
                         key.unknown,
                         static_cast<std::size_t>(count),
                         false});
      }
      count += change;
      from = at;
    }
  }

  std::map<Key, std::vector<Stretch>> stretches_;
  std::map<std::tuple<double, double, double, Key>, std::size_t> ends_;  // x, from y, to y
};

constexpr double beside = 14;      // from a box to the line in the gap next to it
constexpr double first_lane = 6;   // above a row of boxes
constexpr double port_offset = 9;  // from the middle of a box to the ends of its lines
constexpr double outside = 30;     // from all boxes to the line that closes the ring

// The channel above a row in a frame.
struct Gap {
  std::size_t trunk = 0;
  std::size_t row = 0;
};

class Router {
 public:
  Router(const std::vector<Trunk>& trunks, const std::vector<Stop>& stops)
      : trunks_(trunks), stops_(stops) {}

  bool is_short(const Step& step) const {
    return step.to == step.from + 1 || (step.to == 0 && step.from + 1 == stops_.size());
  }

  std::vector<Point> short_way(const Step& step) const {
    return step.to == step.from + 1 ? to_next(step.from) : closing_way();
  }

  std::vector<Point> along_trunks(const Step& step, std::size_t lane) const {
    const Stop& from = stops_[step.from];
    const Stop& to = stops_[step.to];
    const std::vector<Gap> out = ways_out(from);
    const std::vector<Gap> in = ways_out(to);
    const std::size_t shared = shared_gaps(out, in);
    Point at{from.box.centre().x + port_offset, from.box.y};
    std::vector<Point> points{at};
    const auto level_to = [&](double x) { points.push_back(at = {x, at.y}); };
    const auto upright_to = [&](double y) { points.push_back(at = {at.x, y}); };
    for (std::size_t i = out.size(); i-- > shared;) {
      upright_to(channel(out[i], lane));
      level_to(trunk_x(out[i].trunk, lane));
    }
    upright_to(channel(out[shared - 1], lane));
    if (out[shared - 1].row != in[shared - 1].row) {
      level_to(trunk_x(in[shared - 1].trunk, lane));
      upright_to(channel(in[shared - 1], lane));
    }
    for (std::size_t i = shared; i < in.size(); ++i) {
      level_to(trunk_x(in[i].trunk, lane));
      upright_to(channel(in[i], lane));
    }
    level_to(to.box.centre().x - port_offset);
    upright_to(to.box.y);
    return points;
  }

 private:
  double trunk_x(std::size_t trunk, std::size_t lane) const {
    return trunks_[trunk].x + trunks_[trunk].lane_step * static_cast<double>(lane);
  }
  double channel(Gap gap, std::size_t lane) const {
    return trunks_[gap.trunk].channels[gap.row] - first_lane - lane_gap * static_cast<double>(lane);
  }

  // The channels on the way from a unit to the outside, outermost first.
  std::vector<Gap> ways_out(const Stop& stop) const {
    std::vector<Gap> gaps{{stop.trunk, stop.row}};
    for (std::size_t trunk = stop.trunk; trunk != trunks_[trunk].parent;
         trunk = trunks_[trunk].parent) {
      gaps.push_back({trunks_[trunk].parent, trunks_[trunk].row});
    }
    std::ranges::reverse(gaps);
    return gaps;
  }

  // The number of frames around both, including the whole picture.
  static std::size_t shared_gaps(const std::vector<Gap>& a, const std::vector<Gap>& b) {
    std::size_t shared = 0;
    while (shared < std::min(a.size(), b.size()) && a[shared].trunk == b[shared].trunk) ++shared;
    return shared;
  }

  // The outermost boxes that contain only one of two units; the unit itself if there is no such
  // box.
  std::pair<Rect, Rect> separate_boxes(std::size_t from) const {
    const std::vector<Gap> a = ways_out(stops_[from]);
    const std::vector<Gap> b = ways_out(stops_[from + 1]);
    const std::size_t shared = shared_gaps(a, b);
    return {shared < a.size() ? trunks_[a[shared].trunk].box : stops_[from].box,
            shared < b.size() ? trunks_[b[shared].trunk].box : stops_[from + 1].box};
  }

  std::vector<Point> to_next(std::size_t from) const {
    const Rect& a = stops_[from].box;
    const Rect& b = stops_[from + 1].box;
    const auto [around_a, around_b] = separate_boxes(from);
    const Point end{b.x, b.centre().y};
    const double before_b = around_b.x - beside;
    if (around_b.x >= around_a.right()) {
      if (std::abs(a.centre().y - end.y) < 1) return {{a.right(), end.y}, end};
      return {{a.right(), a.centre().y}, {before_b, a.centre().y}, {before_b, end.y}, end};
    }
    const double above_b = around_b.y - beside;
    return {{a.centre().x, a.bottom()},
            {a.centre().x, above_b},
            {before_b, above_b},
            {before_b, end.y},
            end};
  }

  std::vector<Point> closing_way() const {
    const Rect& a = stops_.back().box;
    const Rect& b = stops_.front().box;
    const double below = trunks_.front().box.bottom() + outside;
    const double left = trunks_.front().box.x - outside;
    return {{a.centre().x, a.bottom()},
            {a.centre().x, below},
            {left, below},
            {left, b.centre().y},
            {b.x, b.centre().y}};
  }

  const std::vector<Trunk>& trunks_;
  const std::vector<Stop>& stops_;
};

// Selects the first lane that is free along the whole way, else a shared one.
class Lanes {
 public:
  std::size_t take(const Router& router, const Step& step) {
    std::size_t lane = 0;
    while (lane + 1 < max_lanes && overlaps(router.along_trunks(step, lane))) ++lane;
    const std::vector<Point> points = router.along_trunks(step, lane);
    for (std::size_t i = 1; i < points.size(); ++i) taken_.add(points[i - 1], points[i]);
    return lane;
  }

 private:
  // The first and the last part belong to the units' own ports, so they are not compared.
  bool overlaps(const std::vector<Point>& points) const {
    for (std::size_t i = 2; i + 1 < points.size(); ++i) {
      if (taken_.overlaps(points[i - 1], points[i])) return true;
    }
    return false;
  }
  Stretches taken_;
};

}  // namespace

std::vector<Line> routes(const Sketch& sketch, const std::vector<Trunk>& trunks,
                         const std::vector<Stop>& stops) {
  const Router router(trunks, stops);
  const auto is_long = [&](const Step& step) { return !router.is_short(step); };
  const bool few =
      std::ranges::count_if(sketch.steps, is_long) <= static_cast<std::ptrdiff_t>(max_single_lines);
  std::vector<Line> lines;
  Bundles bundles;
  Lanes lanes;
  for (const Step& step : sketch.steps) {
    Line line{{}, step.crosses, step.unknown, step.count};
    if (!is_long(step)) {
      line.points = router.short_way(step);
    } else if (few) {
      line.points = router.along_trunks(step, lanes.take(router, step));
    } else {
      const std::size_t lane = step.crosses ? (*step.crosses + 1) % max_lanes : 0;
      line.points = router.along_trunks(step, lane);
      bundles.add(line);
      continue;
    }
    lines.push_back(std::move(line));
  }
  std::vector<Line> shared = bundles.take();
  lines.insert(lines.begin(), std::move_iterator(shared.begin()), std::move_iterator(shared.end()));
  return lines;
}

}  // namespace toprun::picture
