#include "cli/benchmark/plot.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>
#include <map>

#include "base/text/text.h"
#include "bench/pairs/distances.h"
#include "bench/tables/figures.h"
#include "bench/tables/live_table.h"
#include "observe/chart/chart.h"
#include "observe/chart/heat_map.h"

namespace toprun::benchmark {
namespace {

constexpr std::size_t most_notes = 8;

// Whether a part of their names is the same in all series.
template <class Member>
bool is_common(const bench::Report& report, Member bench::Series::*part) {
  return std::ranges::all_of(report.series, [&](const bench::Series& series) {
    return series.*part == report.series.front().*part;
  });
}

// What tells a series from the others of its report, its number of ranks aside.
std::string kind_of(const bench::Report& report, const bench::Series& series) {
  std::vector<std::string> parts;
  for (const auto part : {&bench::Series::backend, &bench::Series::fabric, &bench::Series::order,
                          &bench::Series::source}) {
    if (!(series.*part).empty() && !is_common(report, part)) parts.push_back(series.*part);
  }
  return join(parts, " ");
}

// What all series share, in the words of a table's heading, and the day.
std::string title_of(const bench::Report& report, bool has_sizes) {
  bench::Series shared = report.series.front();
  for (const auto part : {&bench::Series::backend, &bench::Series::fabric, &bench::Series::order,
                          &bench::Series::source}) {
    if (!is_common(report, part)) (shared.*part).clear();
  }
  if (!is_common(report, &bench::Series::ranks) || !is_common(report, &bench::Series::nodes)) {
    shared.ranks = shared.nodes = shared.least_ranks = 0;
  }
  std::string title = bench::what_was_run(shared);
  const auto plateau = bench::plateau_of(report.series.front());
  if (!has_sizes && plateau) title += ", " + bench::size_text(plateau->row.bytes);
  constexpr std::size_t day = 10;  // characters of a time
  if (report.start_time.size() >= day) title += ", " + report.start_time.substr(0, day);
  return title;
}

void add_limit(chart::LineChart& chart, std::string name, double gbps) {
  const double rate = gbps / 8;
  const bool known =
      std::ranges::any_of(chart.limits, [&](const chart::Limit& limit) { return limit.y == rate; });
  if (!known && chart.limits.size() < chart::most_limits) {
    chart.limits.push_back({std::move(name), rate});
  }
}

// From what the slowest iterations in a hundred reached to the fastest one.
std::optional<chart::Spread> spread_of(const bench::Side& side) {
  const bench::Times& times = side.times;
  if (times.samples < 2 || times.min_us <= 0 || times.p99_us <= 0) return std::nullopt;
  return chart::Spread{side.busbw * times.mean_us / times.p99_us,
                       side.busbw * times.mean_us / times.min_us};
}

std::optional<chart::Point> point_of(double x, const bench::Row& row) {
  const bench::Side* const side = bench::side_of(row);
  if (side == nullptr || side->busbw <= 0 || x <= 0) return std::nullopt;
  return chart::Point{x, side->busbw, spread_of(*side)};
}

void add_sizes(chart::LineChart& chart, const bench::Report& report) {
  chart.x = {"size", "B", chart::Scale::log2};
  const bool same_ranks = is_common(report, &bench::Series::ranks);
  for (const bench::Series& series : report.series) {
    std::string name = kind_of(report, series);
    if (!same_ranks) {
      name = counted(series.ranks, "rank") + (name.empty() ? "" : " " + name);
    }
    chart::Series line{name.empty() ? "busbw" : name, {}};
    for (const bench::Row& row : series.rows) {
      const auto point = point_of(static_cast<double>(row.bytes), row);
      if (point) line.points.push_back(*point);
    }
    if (!line.points.empty()) chart.series.push_back(std::move(line));
  }
}

void add_ranks(chart::LineChart& chart, const bench::Report& report) {
  chart.x = {"ranks", "", chart::Scale::log2};
  std::map<std::string, chart::Series> kinds;
  for (const bench::Series& series : report.series) {
    const auto plateau = bench::plateau_of(series);
    const auto point =
        plateau ? point_of(static_cast<double>(series.ranks), plateau->row) : std::nullopt;
    if (!point) continue;
    const std::string kind = kind_of(report, series);
    chart::Series& line = kinds[kind];
    line.name = kind.empty() ? "busbw" : kind;
    line.points.push_back(*point);
  }
  for (auto& [kind, line] : kinds) {
    std::ranges::sort(line.points, {}, &chart::Point::x);
    chart.series.push_back(std::move(line));
  }
}

std::vector<chart::Group> groups_of(const pairs::Cluster& cluster) {
  std::vector<chart::Group> groups;
  for (std::size_t i = 0; i < cluster.places.size(); ++i) {
    if (cluster.places[i].empty()) continue;
    const bool goes_on = i > 0 && cluster.places[i] == cluster.places[i - 1];
    if (goes_on) {
      ++groups.back().count;
    } else {
      groups.push_back({cluster.places[i].back(), i, 1});
    }
  }
  return groups;
}

// Neighbours among nodes in ascending order.
struct Run {
  std::size_t first = 0;
  std::size_t count = 0;
};

std::vector<Run> runs_of(const std::vector<std::size_t>& nodes) {
  std::vector<Run> runs;
  for (const std::size_t node : nodes) {
    if (!runs.empty() && runs.back().first + runs.back().count == node) {
      ++runs.back().count;
    } else {
      runs.push_back({node, 1});
    }
  }
  return runs;
}

std::vector<std::size_t> nodes_in(const pairs::Cluster& cluster, const pairs::DomainPath& domain) {
  std::vector<std::size_t> nodes;
  for (std::size_t node = 0; node < cluster.places.size(); ++node) {
    const pairs::DomainPath& place = cluster.places[node];
    if (place.size() < domain.size()) continue;
    if (std::equal(domain.begin(), domain.end(), place.begin())) nodes.push_back(node);
  }
  return nodes;
}

// Between these senders and these receivers, and back, as far as the finding's direction says.
void add_frames(std::vector<chart::Frame>& frames, pairs::Way way, const std::vector<Run>& some,
                const std::vector<Run>& others) {
  for (const Run& one : some) {
    for (const Run& other : others) {
      const chart::Frame there{one.first, one.count, other.first, other.count};
      const chart::Frame back{other.first, other.count, one.first, one.count};
      if (way != pairs::Way::in) frames.push_back(there);
      if (way != pairs::Way::out) frames.push_back(back);
    }
  }
}

std::vector<chart::Frame> frames_of(const pairs::Cluster& cluster,
                                    std::span<const pairs::Finding> findings) {
  const std::vector<Run> all = {{0, cluster.names.size()}};
  std::vector<chart::Frame> frames;
  for (const pairs::Finding& finding : findings) {
    std::vector<std::vector<Run>> sides;
    for (const std::size_t node : finding.nodes) sides.push_back({{node, 1}});
    for (const pairs::DomainPath& domain : finding.domains) {
      sides.push_back(runs_of(nodes_in(cluster, domain)));
    }
    if (sides.empty()) continue;
    add_frames(frames, finding.way, sides.front(), sides.size() > 1 ? sides[1] : all);
  }
  if (frames.size() > chart::most_frames) frames.resize(chart::most_frames);
  return frames;
}

struct UnitOfTime {
  std::string_view name;
  double days;
};

// The largest unit that fits at least twice into the whole history.
UnitOfTime unit_of_time(std::span<const bench::Kind> kinds) {
  constexpr std::array units = {UnitOfTime{"days", 1}, UnitOfTime{"hours", 1.0 / 24},
                                UnitOfTime{"minutes", 1.0 / (24 * 60)}};
  double longest = 0;
  for (const bench::Kind& kind : kinds) {
    for (const bench::Moment& moment : kind.moments) longest = std::max(longest, moment.days);
  }
  if (longest == 0) return units.front();
  const auto unit =
      std::ranges::find_if(units, [&](const UnitOfTime& one) { return longest >= 2 * one.days; });
  return unit == units.end() ? UnitOfTime{"seconds", 1.0 / 86'400} : *unit;
}

}  // namespace

Result<std::string> drawn(const bench::Report& report) {
  if (report.series.empty()) return fail("cannot draw a picture", "nothing was measured");
  chart::LineChart chart;
  chart.y = {"busbw", "GB/s", chart::Scale::log10};
  const bool has_sizes = std::ranges::any_of(
      report.series, [](const bench::Series& series) { return series.rows.size() > 1; });
  chart.title = title_of(report, has_sizes);
  if (has_sizes) {
    add_sizes(chart, report);
  } else {
    add_ranks(chart, report);
  }
  for (const bench::Series& series : report.series) {
    if (series.limit_gbps) {
      const std::string nodes =
          is_common(report, &bench::Series::nodes) ? "" : ", " + counted(series.nodes, "node");
      add_limit(chart, fmt::format("links, {}{}", series.order, nodes), *series.limit_gbps);
    }
    if (series.line_gbps && series.nodes > 1) add_limit(chart, "a node's links", *series.line_gbps);
  }
  const bool has_spread = std::ranges::any_of(chart.series, [](const chart::Series& series) {
    return std::ranges::any_of(series.points, [](const auto& p) { return p.spread.has_value(); });
  });
  if (has_spread) {
    chart.notes.emplace_back(
        "Each bar reaches from the slowest iteration (without the slowest 1 in 100) to the fastest "
        "one.");
  }
  return chart::svg(chart);
}

Result<std::string> drawn(std::span<const bench::Kind> kinds) {
  chart::LineChart chart;
  chart.title = kinds.size() == 1 ? kinds.front().name : "History of measurements";
  chart.y = {"busbw", "GB/s", chart::Scale::log10};
  const double unit_days = unit_of_time(kinds).days;
  std::string first;
  for (const bench::Kind& kind : kinds.first(std::min(kinds.size(), chart::most_series))) {
    chart::Series line{kinds.size() == 1 ? "busbw" : kind.name, {}};
    for (const bench::Moment& moment : kind.moments) {
      line.points.push_back({moment.days / unit_days, moment.busbw});
      if (moment.days == 0) first = moment.time;
    }
    chart.series.push_back(std::move(line));
  }
  constexpr std::size_t day_letters = 10, minute_letters = 16;  // of 2026-11-29T10:00:00Z
  first = first.substr(0, unit_days < 1 ? minute_letters : day_letters);
  std::ranges::replace(first, 'T', ' ');
  chart.x = {fmt::format("{} since {}", unit_of_time(kinds).name, first), "", chart::Scale::linear};
  if (kinds.size() > chart::most_series) {
    chart.notes.push_back(fmt::format("{} more kinds of measurements are not drawn",
                                      kinds.size() - chart::most_series));
  }
  return chart::svg(chart);
}

Result<std::string> drawn(const pairs::Cluster& cluster, std::span<const pairs::Measured> measured,
                          std::span<const pairs::Finding> findings) {
  const std::size_t nodes = cluster.names.size();
  chart::HeatMap map;
  map.title = "Gbps from each node to each other, as first measured";
  map.names = cluster.names;
  map.groups = groups_of(cluster);
  map.unit = "Gbps";
  map.scale = chart::Scale::log10;
  map.values.assign(nodes * nodes, std::numeric_limits<double>::quiet_NaN());
  map.figures.resize(nodes * nodes);
  const auto set = [&](std::size_t from, std::size_t to, double gbps) {
    map.values[from * nodes + to] = gbps;
    map.figures[from * nodes + to] = pairs::figure_text(gbps);
  };
  for (const pairs::Measured& one : measured) {
    if (one.state != pairs::State::measured) continue;
    set(one.a, one.b, one.gbps_ab);
    set(one.b, one.a, one.gbps_ba);
  }
  map.frames = frames_of(cluster, findings);
  for (const pairs::Finding& finding : findings) {
    if (map.notes.size() == most_notes) break;
    map.notes.push_back(pairs::finding_line(cluster, pairs::Figure::rate, finding));
  }
  return chart::svg(map);
}

}  // namespace toprun::benchmark
