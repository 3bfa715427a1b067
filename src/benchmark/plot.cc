#include "benchmark/plot.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <map>

#include "base/counted.h"
#include "base/text.h"
#include "bench/figures.h"
#include "chart/chart.h"
#include "chart/heat_map.h"

namespace toprun::benchmark {
namespace {

// What tells a series from others, its number of ranks aside.
std::string kind_of(const bench::Series& series) {
  std::vector<std::string> parts;
  for (const std::string& part : {series.backend, series.fabric, series.order}) {
    if (!part.empty()) parts.push_back(part);
  }
  return join(parts, " ");
}

void add_limit(chart::LineChart& chart, std::string name, double gbps) {
  const double rate = gbps / 8;
  const bool known =
      std::ranges::any_of(chart.limits, [&](const chart::Limit& limit) { return limit.y == rate; });
  if (!known && chart.limits.size() < chart::most_limits) {
    chart.limits.push_back({std::move(name), rate});
  }
}

std::optional<double> busbw_of(const bench::Row& row) {
  const bench::Side* const side = bench::side_of(row);
  if (side == nullptr || side->busbw <= 0) return std::nullopt;
  return side->busbw;
}

void add_sizes(chart::LineChart& chart, const bench::Report& report) {
  chart.x = {"size", "B", chart::Scale::log2};
  for (const bench::Series& series : report.series) {
    chart::Series line{fmt::format("{} {}", counted(series.ranks, "rank"), kind_of(series)), {}};
    for (const bench::Row& row : series.rows) {
      const auto busbw = busbw_of(row);
      if (busbw && row.bytes > 0) line.points.push_back({static_cast<double>(row.bytes), *busbw});
    }
    if (!line.points.empty()) chart.series.push_back(std::move(line));
  }
}

void add_ranks(chart::LineChart& chart, const bench::Report& report) {
  chart.x = {"ranks", "", chart::Scale::log2};
  std::map<std::string, chart::Series> kinds;
  for (const bench::Series& series : report.series) {
    const auto plateau = bench::plateau_of(series);
    const auto busbw = plateau ? busbw_of(plateau->row) : std::nullopt;
    if (!busbw || series.ranks == 0) continue;
    chart::Series& line = kinds[kind_of(series)];
    line.name = kind_of(series).empty() ? "busbw" : kind_of(series);
    line.points.push_back({static_cast<double>(series.ranks), *busbw});
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

}  // namespace

Result<std::string> drawn(const bench::Report& report) {
  if (report.series.empty()) return fail("a picture", "nothing was measured");
  chart::LineChart chart;
  chart.title = std::string(bench::facts_of(report.series.front().collective).name);
  chart.y = {"busbw", "GB/s", chart::Scale::log10};
  const bool has_sizes = std::ranges::any_of(
      report.series, [](const bench::Series& series) { return series.rows.size() > 1; });
  if (has_sizes) {
    add_sizes(chart, report);
  } else {
    add_ranks(chart, report);
  }
  for (const bench::Series& series : report.series) {
    if (series.limit_gbps) {
      add_limit(chart, fmt::format("links, {}", series.order), *series.limit_gbps);
    }
    if (series.line_gbps && series.nodes > 1) add_limit(chart, "a node's links", *series.line_gbps);
  }
  return chart::svg(chart);
}

Result<std::string> drawn(std::span<const bench::Kind> kinds) {
  chart::LineChart chart;
  chart.title = "History of measurements";
  chart.y = {"busbw", "GB/s", chart::Scale::log10};
  std::string first;
  for (const bench::Kind& kind : kinds.first(std::min(kinds.size(), chart::most_series))) {
    chart::Series line{kind.name, {}};
    for (const bench::Moment& moment : kind.moments) {
      line.points.push_back({moment.days, moment.busbw});
      if (moment.days == 0) first = moment.time.substr(0, 10);
    }
    chart.series.push_back(std::move(line));
  }
  chart.x = {"days since " + first, "", chart::Scale::linear};
  if (kinds.size() > chart::most_series) {
    chart.notes.push_back(
        fmt::format("{} more kinds are not drawn", kinds.size() - chart::most_series));
  }
  return chart::svg(chart);
}

Result<std::string> drawn(const pairs::Cluster& cluster,
                          std::span<const pairs::Measured> measured) {
  const std::size_t nodes = cluster.names.size();
  chart::HeatMap map;
  map.title = "From each node (row) to each other";
  map.names = cluster.names;
  map.groups = groups_of(cluster);
  map.unit = "Gbps";
  map.values.assign(nodes * nodes, std::numeric_limits<double>::quiet_NaN());
  for (const pairs::Measured& one : measured) {
    if (one.state != pairs::State::measured) continue;
    map.values[one.a * nodes + one.b] = one.gbps_ab;
    map.values[one.b * nodes + one.a] = one.gbps_ba;
  }
  return chart::svg(map);
}

}  // namespace toprun::benchmark
