#include "bench/tables/history.h"

#include <fmt/format.h>

#include <algorithm>
#include <ctime>
#include <map>
#include <set>

#include "base/net/hostlist.h"
#include "base/text/clock.h"
#include "base/text/text.h"
#include "bench/tables/figures.h"
#include "bench/tables/json.h"
#include "bench/tables/live_table.h"
#include "bench/tables/statistics.h"

namespace toprun::bench {
namespace {

using Names = std::set<std::string>;

// Where a report was measured.
struct Place {
  Names hosts;
  Names gpus;  // models
  auto operator<=>(const Place&) const = default;
};

Place place_of(const Report& report) {
  Place place;
  for (const Device& device : report.devices) {
    if (!device.host.empty()) place.hosts.insert(device.host);
    if (!device.name.empty() && device.name != "cpu") place.gpus.insert(device.name);
  }
  return place;
}

// ", on n[1-2] with NVIDIA H100"
std::string place_text(const Place& place) {
  std::string out;
  if (!place.hosts.empty()) {
    out += ", on " + printable(hosts::short_list({place.hosts.begin(), place.hosts.end()}));
  }
  if (!place.gpus.empty())
    out += " with " + printable(join(std::vector(place.gpus.begin(), place.gpus.end()), " and "));
  return out;
}

std::string name_of(const Series& series, const Row& row, const Place& place) {
  std::string out(facts_of(series.collective).name);
  for (const std::string& part : {series.backend, series.fabric}) {
    if (!part.empty()) out += " " + printable(part);
  }
  out += fmt::format(", {} on {}, {}", counted(series.ranks, "rank"), counted(series.nodes, "node"),
                     size_text(row.bytes));
  if (!series.order.empty()) out += ", order " + printable(series.order);
  return out + place_text(place);
}

using Figures = std::vector<std::pair<WallTime, double>>;

std::vector<Moment> moments_of(Figures figures, WallTime first) {
  std::ranges::stable_sort(figures, {}, &Figures::value_type::first);
  std::vector<Moment> moments;
  std::vector<double> earlier;
  for (const auto& [time, busbw] : figures) {
    const std::chrono::duration<double, std::ratio<86'400>> since = time - first;
    Moment moment{rfc3339(time), since.count(), busbw, std::nullopt};
    if (!earlier.empty()) moment.beside_earlier = busbw / median(earlier);
    moments.push_back(std::move(moment));
    earlier.push_back(busbw);
  }
  return moments;
}

std::string difference(const std::optional<double>& share) {
  return share ? fmt::format("  {:>+8.1f} %", 100 * (*share - 1)) : "";
}

}  // namespace

std::string history_line(const Report& report) {
  Report largest = report;
  for (Series& series : largest.series) {
    const auto plateau = plateau_of(series);
    series.rows.clear();
    if (plateau) series.rows.push_back(plateau->row);
  }
  // JSON has line ends between its values only.
  const std::string lines = report_json(largest);
  std::string line;
  for (const std::string_view part : split(lines, '\n')) line += trim(part);
  return line + "\n";
}

History read_history(std::string_view text, const std::string& file) {
  History history;
  std::size_t number = 0;
  for (const std::string_view line : split(text, '\n')) {
    ++number;
    if (trim(line).empty()) continue;
    auto report = parse_report(line, file);
    if (report) {
      history.reports.push_back(*std::move(report));
    } else {
      history.unreadable.push_back(fmt::format("line {}: {}", number, report.error()->why));
    }
  }
  return history;
}

std::vector<Kind> kinds_of(std::span<const Report> reports) {
  // By the place too: a list of hosts in a name may be shortened.
  std::map<std::pair<std::string, Place>, Figures> figures;
  std::optional<WallTime> first;
  for (const Report& report : reports) {
    const auto time = time_in(report.start_time);
    const Place place = place_of(report);
    for (const Series& series : report.series) {
      for (const Row& row : series.rows) {
        const Side* const side = side_of(row);
        if (!time || side == nullptr || side->busbw <= 0) continue;
        figures[{name_of(series, row, place), place}].emplace_back(*time, side->busbw);
        first = std::min(first.value_or(*time), *time);
      }
    }
  }
  std::vector<Kind> kinds;
  for (auto& [kind, of_kind] : figures) {
    kinds.push_back({kind.first, moments_of(std::move(of_kind), *first)});
  }
  return kinds;
}

std::string history_text(std::span<const Kind> kinds, std::size_t most) {
  std::string out;
  constexpr std::size_t minutes = 16, seconds = 19;  // letters of 2026-11-29T10:00:00Z
  const bool is_dense = std::ranges::any_of(kinds, [](const Kind& kind) {
    return std::ranges::adjacent_find(kind.moments, [](const Moment& a, const Moment& b) {
             return a.time.substr(0, minutes) == b.time.substr(0, minutes);
           }) != kind.moments.end();
  });
  for (const Kind& kind : kinds) {
    out += fmt::format("{}{}: busbw\n", out.empty() ? "" : "\n", kind.name);
    const std::size_t count = kind.moments.size();
    for (std::size_t i = count > most ? count - most : 0; i < count; ++i) {
      const Moment& moment = kind.moments[i];
      out +=
          fmt::format("  {}Z  {:>9} GB/s{}\n", moment.time.substr(0, is_dense ? seconds : minutes),
                      rate_text(moment.busbw), difference(moment.beside_earlier));
    }
  }
  return out;
}

}  // namespace toprun::bench
