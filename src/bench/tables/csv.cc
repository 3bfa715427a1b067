#include <fmt/format.h>

#include <algorithm>

#include "bench/tables/figures.h"
#include "bench/tables/tables.h"

namespace toprun::bench {
namespace {

constexpr std::string_view column_names =
    "collective,backend,order,fabric,nodes,ranks,bytes,count,type,redop,root,placement,samples,"
    "mean_us,min_us,median_us,p99_us,cv,algbw_gigabytes,busbw_gigabytes,wire_floor_gbps,wrong";

std::string quoted(const std::string& text) {
  if (text.find_first_of(",\"\r\n") == std::string::npos) return text;
  std::string out = "\"";
  for (const char c : text) out += c == '"' ? "\"\"" : std::string(1, c);
  return out + "\"";
}

std::string known(std::uint64_t count) {
  return count == 0 ? "" : fmt::format("{}", count);
}

std::string series_fields(const Series& series) {
  return fmt::format("{},{},{},{},{},{},", facts_of(series.collective).name, quoted(series.backend),
                     quoted(series.order), quoted(series.fabric), known(series.nodes),
                     known(series.ranks));
}

// An imported table has only means.
std::string spread_fields(const Times& times) {
  if (times.samples == 0) return fmt::format(",{:.9g},,,,,", times.mean_us);
  return fmt::format("{},{:.9g},{:.9g},{:.9g},{:.9g},{:.6g},", times.samples, times.mean_us,
                     times.min_us, times.median_us, times.p99_us, times.cv);
}

std::string side_fields(const Series& series, const Side& side) {
  const double floor = wire_floor(series.collective, side.algbw, series.nodes, series.ranks);
  const bool has_floor = series.nodes > 0 && series.ranks > 0;
  return fmt::format("{}{:.9g},{:.9g},{},{}", spread_fields(side.times), side.algbw, side.busbw,
                     has_floor ? fmt::format("{:.9g}", gbps_of(floor)) : "",
                     side.wrong ? fmt::format("{}", *side.wrong) : "");
}

bool has_sources(std::span<const Report> reports) {
  return std::ranges::any_of(reports, [](const Report& report) {
    return std::ranges::any_of(report.series,
                               [](const Series& series) { return !series.source.empty(); });
  });
}

// `end` closes each line.
std::string lines_of(const Series& series, const Row& row, const std::string& end) {
  const std::string start =
      series_fields(series) + fmt::format("{},{},{},{},{},", row.bytes,
                                          row.bytes == 0 ? "0" : known(row.count), quoted(row.type),
                                          quoted(row.redop), row.root);
  std::string out;
  if (row.out_of_place)
    out += start + "out_of_place," + side_fields(series, *row.out_of_place) + end;
  if (row.in_place) out += start + "in_place," + side_fields(series, *row.in_place) + end;
  return out;
}

}  // namespace

std::string csv(std::span<const Report> reports) {
  const bool with_source = has_sources(reports);
  std::string out = std::string(column_names) + (with_source ? ",source\n" : "\n");
  for (const Report& report : reports) {
    for (const Series& series : report.series) {
      const std::string end = with_source ? "," + quoted(series.source) + "\n" : "\n";
      for (const Row& row : series.rows) out += lines_of(series, row, end);
    }
  }
  return out;
}

}  // namespace toprun::bench
