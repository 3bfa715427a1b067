#include <algorithm>
#include <array>
#include <cmath>
#include <optional>

#include "base/os/style.h"
#include "observe/chart/chart.h"
#include "observe/chart/page.h"

namespace toprun::chart {
namespace {

constexpr double plot_left = 84;
constexpr double plot_right = page_width - 28;
constexpr double plot_top = 58;
constexpr double plot_height = 380;
constexpr double plot_bottom = plot_top + plot_height;
constexpr double below_plot = 62;  // ticks and the axis' label
constexpr double sample_px = 36;   // of a line in the legend
constexpr double gap_px = 8;
constexpr double bar_end_px = 8;       // of a spread
constexpr double between_bars_px = 3;  // of series with points at the same place
constexpr double between_entries = 26;
constexpr std::size_t most_name = 48;         // characters
constexpr std::size_t most_series_name = 90;  // a whole line of the legend
constexpr std::size_t most_limit_name = 66;   // with its figure behind it
constexpr std::size_t most_chart_note = 120;
constexpr std::size_t x_ticks = 9;
constexpr std::size_t y_ticks = 6;
constexpr std::size_t most_markers = 40;  // of a series
constexpr std::array limit_dashes = {"6 3", "2 3", "12 4", "12 3 2 3"};
static_assert(limit_dashes.size() == most_limits);
static_assert(most_series == styles);

std::string with_unit(const Axis& axis) {
  if (axis.unit.empty() || axis.unit == "B") return axis.label;
  return fmt::format("{} [{}]", axis.label, axis.unit);
}

bool can_show(double value, const Axis& axis) {
  return std::isfinite(value) && (axis.scale == Scale::linear || value > 0);
}

std::optional<Error> objection(const LineChart& chart) {
  const auto about = [&](std::string why) {
    return Error{fmt::format("the chart \"{}\" cannot be drawn", chart.title), std::move(why), {}};
  };
  if (chart.series.size() > most_series) {
    return about(fmt::format("the chart has {} series, more than the {} that can be told apart",
                             chart.series.size(), most_series));
  }
  if (chart.limits.size() > most_limits) {
    return about(fmt::format("the chart has {} limit lines, more than {}", chart.limits.size(),
                             most_limits));
  }
  std::size_t points = 0;
  for (const Series& series : chart.series) {
    points += series.points.size();
    for (const auto& [x, y, spread] : series.points) {
      const bool has_room =
          !spread || (can_show(spread->low, chart.y) && can_show(spread->high, chart.y));
      if (can_show(x, chart.x) && can_show(y, chart.y) && has_room) continue;
      return about(
          fmt::format("the chart's axes have no place for the point ({}, {}) of the series \"{}\"",
                      x, y, series.name));
    }
  }
  for (const auto& [name, y] : chart.limits) {
    if (can_show(y, chart.y)) continue;
    return about(fmt::format("the chart's axis has no place for the limit {} of \"{}\"", y, name));
  }
  if (points == 0) return about("the chart has no points");
  if (points > most_points) {
    return about(fmt::format("the chart has {} points, more than {}", points, most_points));
  }
  return std::nullopt;
}

struct Entry {
  std::string name;
  double x = 0;
  double y = 0;
};

// Places names one after another in as many lines as they need.
std::vector<Entry> legend_of(const LineChart& chart, double top) {
  std::vector<Entry> out;
  double x = plot_left;
  double y = top;
  const auto place = [&](std::string name) {
    const double width = sample_px + gap_px + width_px(name, font_px);
    if (x > plot_left && x + width > plot_right) {
      x = plot_left;
      y += line_px;
    }
    out.push_back({std::move(name), x, y});
    x += width + between_entries;
  };
  for (const Series& series : chart.series) place(both_ends(series.name, most_series_name));
  for (const Limit& limit : chart.limits) {
    const std::string unit = chart.y.unit.empty() || chart.y.unit == "B" ? "" : " " + chart.y.unit;
    place(fmt::format("{}: {}{}", both_ends(limit.name, most_limit_name),
                      figure(limit.y, chart.y.unit), unit));
  }
  return out;
}

class LineChartDrawing {
 public:
  explicit LineChartDrawing(const LineChart& chart)
      : chart_(chart),
        legend_(legend_of(chart, plot_bottom + below_plot)),
        notes_top_(legend_.back().y + line_px + gap_px),
        page_(chart.title, description(chart),
              notes_top_ + static_cast<double>(chart.notes.size()) * line_px) {
    measure();
  }

  std::string run() && {
    page_.text(margin_px, margin_px + title_px, both_ends(chart_.title, most_title),
               Page::Anchor::start,
               fmt::format("class=\"ink\" font-size=\"{}\" font-weight=\"bold\"", title_px));
    draw_axes();
    for (std::size_t i = 0; i < chart_.limits.size(); ++i) draw_limit(i);
    for (std::size_t i = 0; i < chart_.series.size(); ++i) draw_series(i);
    draw_legend();
    for (std::size_t i = 0; i < chart_.notes.size(); ++i) {
      page_.text(plot_left, notes_top_ + static_cast<double>(i) * line_px,
                 both_ends(chart_.notes[i], most_chart_note), Page::Anchor::start,
                 "class=\"faint\"");
    }
    return std::move(page_).end();
  }

 private:
  static std::string description(const LineChart& chart) {
    std::string out = fmt::format("{} over {};", with_unit(chart.y), with_unit(chart.x));
    for (const Series& series : chart.series) {
      if (series.points.empty()) continue;
      const auto best = std::ranges::max_element(series.points, {}, &Point::y);
      out += fmt::format(" {}: at most {} at {};", series.name, figure(best->y, chart.y.unit),
                         figure(best->x, chart.x.unit));
    }
    out.back() = '.';
    return out;
  }

  void measure() {
    std::vector<double> xs;
    std::vector<double> ys;
    for (const Series& series : chart_.series) {
      for (const auto& [x, y, spread] : series.points) {
        xs.push_back(x);
        ys.push_back(y);
        if (spread) ys.insert(ys.end(), {spread->low, spread->high});
      }
    }
    for (const Limit& limit : chart_.limits) ys.push_back(limit.y);
    const auto [left, right] = std::ranges::minmax(xs);
    const auto [low, high] = std::ranges::minmax(ys);
    x_ = range_of(left, right, chart_.x.scale, chart_.x.unit, x_ticks);
    if (left == right)
      x_.ticks = {{left, figure(left, chart_.x.unit)}};  // of others nothing is known
    y_ = range_of(low, high, chart_.y.scale, chart_.y.unit, y_ticks);
  }

  double x_of(double x) const {
    return plot_left + position(x, x_, chart_.x.scale) * (plot_right - plot_left);
  }
  double y_of(double y) const {
    return plot_bottom - position(y, y_, chart_.y.scale) * plot_height;
  }

  void draw_axes() {
    for (const Tick& tick : y_.ticks) {
      page_.line(plot_left, y_of(tick.value), plot_right, y_of(tick.value), "class=\"grid\"");
      page_.text(plot_left - gap_px, y_of(tick.value) + font_px / 3, tick.label, Page::Anchor::end);
    }
    for (const Tick& tick : x_.ticks) {
      page_.line(x_of(tick.value), plot_top, x_of(tick.value), plot_bottom, "class=\"grid\"");
      page_.text(x_of(tick.value), plot_bottom + line_px, tick.label, Page::Anchor::middle);
    }
    page_.add("<path class=\"axis\" d=\"M{0} {1}V{2}H{3}\"/>\n", plot_left, plot_top, plot_bottom,
              plot_right);
    page_.text((plot_left + plot_right) / 2, plot_bottom + 2.1 * line_px,
               both_ends(with_unit(chart_.x), most_title), Page::Anchor::middle);
    const double middle = (plot_top + plot_bottom) / 2;
    page_.text(margin_px + font_px / 2, middle, both_ends(with_unit(chart_.y), most_name),
               Page::Anchor::middle,
               fmt::format("class=\"ink\" transform=\"rotate(-90 {} {})\"",
                           coordinate(margin_px + font_px / 2), coordinate(middle)));
  }

  void draw_limit(std::size_t i) {
    const double y = y_of(chart_.limits[i].y);
    page_.line(plot_left, y, plot_right, y, limit_attributes(i));
  }

  static std::string limit_attributes(std::size_t i) {
    return fmt::format("class=\"axis\" stroke-width=\"1.5\" stroke-dasharray=\"{}\"",
                       limit_dashes[i]);
  }

  void draw_series(std::size_t i) {
    const std::vector<Point>& points = chart_.series[i].points;
    const double aside = aside_px(i);
    std::string path;
    for (const auto& [x, y, spread] : points) {
      path += fmt::format("{}{} {}", path.empty() ? 'M' : 'L', coordinate(x_of(x) + aside),
                          coordinate(y_of(y)));
    }
    if (points.size() > 1) page_.series_line(i, path);
    const std::size_t step = (points.size() + most_markers - 1) / most_markers;
    for (std::size_t p = 0; p < points.size(); p += step) {
      if (points[p].spread) draw_spread(i, points[p]);
      page_.marker(i, x_of(points[p].x) + aside, y_of(points[p].y));
    }
  }

  // Bars of several series at the same place stand side by side, each with its marker.
  double aside_px(std::size_t i) const {
    const bool has_bars = std::ranges::any_of(chart_.series, [](const Series& series) {
      return std::ranges::any_of(series.points,
                                 [](const Point& point) { return point.spread.has_value(); });
    });
    if (!has_bars) return 0;
    const double middle = static_cast<double>(chart_.series.size() - 1) / 2;
    return (static_cast<double>(i) - middle) * between_bars_px;
  }

  // A bar with ends.
  void draw_spread(std::size_t i, const Point& point) {
    const double x = x_of(point.x) + aside_px(i);
    const double low = y_of(point.spread->low);
    const double high = y_of(point.spread->high);
    page_.series_bar(
        i, fmt::format("M{0} {1}h{3}m-{4} 0V{2}m-{4} 0h{3}", coordinate(x - bar_end_px / 2),
                       coordinate(low), coordinate(high), bar_end_px, bar_end_px / 2));
  }

  void draw_legend() {
    for (std::size_t i = 0; i < legend_.size(); ++i) {
      const auto& [name, x, y] = legend_[i];
      const double middle = y - font_px / 3;
      if (i < chart_.series.size()) {
        page_.series_line(
            i, fmt::format("M{} {}h{}", coordinate(x), coordinate(middle), coordinate(sample_px)));
        page_.marker(i, x + sample_px / 2, middle);
      } else {
        page_.line(x, middle, x + sample_px, middle, limit_attributes(i - chart_.series.size()));
      }
      page_.text(x + sample_px + gap_px, y, name);
    }
  }

  const LineChart& chart_;
  std::vector<Entry> legend_;
  double notes_top_;
  Page page_;
  Range x_, y_;
};

}  // namespace

Result<std::string> svg(const LineChart& chart) {
  if (auto error = objection(chart)) return std::unexpected(std::move(*error));
  return LineChartDrawing(chart).run();
}

}  // namespace toprun::chart
