#include "view/ring_route.h"

#include <algorithm>
#include <cmath>

namespace toprun::view {
namespace {

using placement::Step;

constexpr double beside = 14;      // from a box to the line in the gap before it
constexpr double outside = 26;     // from all boxes to the line that closes the ring
constexpr double port_offset = 9;  // of a curve's ends from the middle of a side
constexpr double least_bend = 26;

// The outermost boxes that hold one of two units and not the other; a unit itself if it stands
// beside.
struct Apart {
  Rect from, to;
};

class Router {
 public:
  Router(const std::vector<Rect>& units, const std::vector<std::vector<Rect>>& frames,
         const Rect& area)
      : units_(units), frames_(frames), area_(area) {}

  Line run(const Step& step) const {
    Line line{{}, false, step.crosses, step.unknown, step.count};
    if (step.to == step.from + 1) {
      line.points = to_next(step.from);
    } else if (step.to == 0 && step.from + 1 == units_.size()) {
      line.points = way_back();
    } else {
      line.points = curve(step);
      line.curved = true;
    }
    return line;
  }

 private:
  Apart apart(std::size_t from) const {
    const auto& a = frames_[from];
    const auto& b = frames_[from + 1];
    std::size_t depth = 0;
    while (depth < std::min(a.size(), b.size()) && a[depth].x == b[depth].x &&
           a[depth].y == b[depth].y) {
      ++depth;
    }
    return {depth < a.size() ? a[depth] : units_[from],
            depth < b.size() ? b[depth] : units_[from + 1]};
  }

  std::vector<Point> to_next(std::size_t from) const {
    const Rect& a = units_[from];
    const Rect& b = units_[from + 1];
    const auto [around_a, around_b] = apart(from);
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

  std::vector<Point> way_back() const {
    const Rect& a = units_.back();
    const Rect& b = units_.front();
    const double below = area_.bottom() + outside;
    const double left = area_.x - outside;
    return {{a.centre().x, a.bottom()},
            {a.centre().x, below},
            {left, below},
            {left, b.centre().y},
            {b.x, b.centre().y}};
  }

  std::vector<Point> curve(const Step& step) const {
    const Rect& a = units_[step.from];
    const Rect& b = units_[step.to];
    const double dx = b.centre().x - a.centre().x;
    const double dy = b.centre().y - a.centre().y;
    if (std::abs(dy) < a.height / 2) return passes_over(step) ? over(a, b) : under(a, b);
    const double gap = std::abs(dy) - a.height;
    if (std::abs(dx) < a.width && gap > a.height) return round_the_side(a, b);
    const double bend = std::max(least_bend, gap * 0.45);
    if (dy > 0) {
      const Point start{a.centre().x + port_offset, a.bottom()};
      const Point end{b.centre().x + port_offset, b.y};
      return {start, {start.x, start.y + bend}, {end.x, end.y - bend}, end};
    }
    const Point start{a.centre().x - port_offset, a.y};
    const Point end{b.centre().x - port_offset, b.bottom()};
    return {start, {start.x, start.y - bend}, {end.x, end.y + bend}, end};
  }

  // Between two of one row: where fewer rows are in the way, else above to the right and below to
  // the left.
  bool passes_over(const Step& step) const {
    const Rect& a = units_[step.from];
    const Rect around = frames_[step.from].empty() ? area_ : frames_[step.from].back();
    const double above = a.y - around.y;
    const double below = around.bottom() - a.bottom();
    if (std::abs(above - below) > a.height) return above < below;
    return a.x < units_[step.to].x;
  }

  std::vector<Point> over(const Rect& a, const Rect& b) const {
    const double side = a.x < b.x ? port_offset : -port_offset;
    const Point start{a.centre().x + side, a.y};
    const Point end{b.centre().x - side, b.y};
    const double rise = bend_of(std::abs(end.x - start.x), start.y - area_.y + outside / 2);
    return {start, {start.x, start.y - rise}, {end.x, end.y - rise}, end};
  }

  std::vector<Point> under(const Rect& a, const Rect& b) const {
    const double side = a.x < b.x ? port_offset : -port_offset;
    const Point start{a.centre().x + side, a.bottom()};
    const Point end{b.centre().x - side, b.bottom()};
    const double fall = bend_of(std::abs(start.x - end.x), area_.bottom() - start.y + outside / 2);
    return {start, {start.x, start.y + fall}, {end.x, end.y + fall}, end};
  }

  // A curve reaches three quarters of the way to its handles.
  static double bend_of(double distance, double room) {
    return std::min(least_bend + distance * 0.16, room) * 4 / 3;
  }

  static std::vector<Point> round_the_side(const Rect& a, const Rect& b) {
    const double bend = least_bend * 4 / 3;
    if (b.y > a.y) {
      const Point start{a.right(), a.centre().y};
      const Point end{b.right(), b.centre().y};
      return {start, {start.x + bend, start.y}, {end.x + bend, end.y}, end};
    }
    const Point start{a.x, a.centre().y};
    const Point end{b.x, b.centre().y};
    return {start, {start.x - bend, start.y}, {end.x - bend, end.y}, end};
  }

  const std::vector<Rect>& units_;
  const std::vector<std::vector<Rect>>& frames_;
  const Rect& area_;
};

}  // namespace

std::vector<Line> routes(const placement::Sketch& sketch, const std::vector<Rect>& units,
                         const std::vector<std::vector<Rect>>& frames, const Rect& area) {
  const Router router(units, frames, area);
  std::vector<Line> lines;
  lines.reserve(sketch.steps.size());
  for (const Step& step : sketch.steps) lines.push_back(router.run(step));
  return lines;
}

}  // namespace toprun::view
