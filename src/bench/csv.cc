#include <fmt/format.h>

#include "bench/figures.h"
#include "bench/tables.h"

namespace toprun::bench {
namespace {

constexpr std::string_view column_names =
    "collective,backend,order,fabric,nodes,ranks,bytes,count,type,redop,root,placement,samples,"
    "mean_us,min_us,median_us,p99_us,cv,algbw_gigabytes,busbw_gigabytes,wire_floor_gbps,wrong\n";

std::string quoted(const std::string& text) {
  if (text.find_first_of(",\"\r\n") == std::string::npos) return text;
  std::string out = "\"";
  for (const char c : text) out += c == '"' ? "\"\"" : std::string(1, c);
  return out + "\"";
}

std::string series_fields(const Series& series) {
  return fmt::format("{},{},{},{},{},{},", facts_of(series.collective).name, quoted(series.backend),
                     quoted(series.order), quoted(series.fabric), series.nodes, series.ranks);
}

// An imported table has only means.
std::string spread_fields(const Times& times) {
  if (times.samples == 0) return fmt::format(",{:.9g},,,,,", times.mean_us);
  return fmt::format("{},{:.9g},{:.9g},{:.9g},{:.9g},{:.6g},", times.samples, times.mean_us,
                     times.min_us, times.median_us, times.p99_us, times.cv);
}

std::string side_fields(const Series& series, const Side& side) {
  const double floor = wire_floor(series.collective, side.algbw, series.nodes, series.ranks);
  return fmt::format("{}{:.9g},{:.9g},{:.9g},{}\n", spread_fields(side.times), side.algbw,
                     side.busbw, gbps_of(floor), side.wrong ? fmt::format("{}", *side.wrong) : "");
}

std::string lines_of(const Series& series, const Row& row) {
  const std::string start =
      series_fields(series) + fmt::format("{},{},{},{},{},", row.bytes, row.count, quoted(row.type),
                                          quoted(row.redop), row.root);
  std::string out;
  if (row.out_of_place) out += start + "out_of_place," + side_fields(series, *row.out_of_place);
  if (row.in_place) out += start + "in_place," + side_fields(series, *row.in_place);
  return out;
}

}  // namespace

std::string csv(std::span<const Report> reports) {
  std::string out(column_names);
  for (const Report& report : reports) {
    for (const Series& series : report.series) {
      for (const Row& row : series.rows) out += lines_of(series, row);
    }
  }
  return out;
}

}  // namespace toprun::bench
