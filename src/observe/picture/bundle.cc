#include "observe/picture/bundle.h"

#include <algorithm>

namespace toprun::picture {
namespace {

Track track_of(Point a, Point b) {
  return a.x == b.x ? Track{true, a.x} : Track{false, a.y};
}

std::pair<double, double> extent_of(Point a, Point b) {
  return a.x == b.x ? std::minmax({a.y, b.y}) : std::minmax({a.x, b.x});
}

Point point_on(const Track& track, double along) {
  return track.upright ? Point{track.at, along} : Point{along, track.at};
}

}  // namespace

void Stretches::add(Point a, Point b) {
  taken_[track_of(a, b)].push_back(extent_of(a, b));
}

bool Stretches::overlaps(Point a, Point b) const {
  const auto track = taken_.find(track_of(a, b));
  if (track == taken_.end()) return false;
  const auto [from, to] = extent_of(a, b);
  return std::ranges::any_of(
      track->second, [&](const auto& taken) { return taken.first < to && from < taken.second; });
}

void Bundles::add(const Line& line) {
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

// The number of overlapping lines changes only at the ends of stretches.
void Bundles::add_parts(const Key& key, const std::vector<Stretch>& stretches,
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

std::vector<Line> Bundles::take() {
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

}  // namespace toprun::picture
