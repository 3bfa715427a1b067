
#include "base/text/text.h"
#include "bench/tables/import.h"
#include "bench/tables/import_nccl_row.h"
#include "bench/tables/json.h"

namespace toprun::bench {
namespace {

// nccl-tests writes its whole environment; only what concerns the network is a measurement's
// condition, and the rest may hold secrets.
bool concerns_network(std::string_view name) {
  return name.starts_with("NCCL_") || name.starts_with("FI_") || name.starts_with("UCX_");
}

Device read_nccl_device(JsonFields& fields) {
  return {static_cast<std::size_t>(fields.count("rank")),
          fields.text("hostname"),
          fields.whole<int>("pid"),
          fields.whole<int>("device"),
          fields.text_or("device_info"),
          fields.text_or("device_hex")};
}

void read_iterations(JsonFields& result, const char* key, Times& times) {
  if (!result.has(key)) return;
  JsonFields fields = result.object(key);
  times.min_us = fields.number("min_us");
  times.median_us = fields.number("p50_us");
  times.p99_us = fields.number("p99_us");
  times.cv = fields.number("cv_pct") / 100;
  times.samples = fields.size_of("times_us");
}

std::optional<Side> read_nccl_side(JsonFields& result, const char* key, const char* iterations) {
  if (!result.has(key)) return std::nullopt;
  JsonFields fields = result.object(key);
  Side side;
  side.times.mean_us = fields.number(fields.has("cpu_time") ? "cpu_time" : "time");
  side.algbw = fields.number("alg_bw");
  side.busbw = fields.number("bus_bw");
  if (fields.has("nwrong")) side.wrong = fields.count("nwrong");
  read_iterations(result, iterations, side.times);
  return side;
}

Row read_nccl_row(JsonFields& fields) {
  return {fields.count("size"),
          fields.count("count"),
          fields.text("type"),
          fields.text("redop"),
          fields.whole<int>("root"),
          read_nccl_side(fields, "out_of_place", "out_of_place_per_iter"),
          read_nccl_side(fields, "in_place", "in_place_per_iter")};
}

// The file lists one device per process, whose ranks are as many as its threads times their GPUs.
std::size_t ranks_of(JsonFields& config, const std::vector<Device>& devices) {
  const std::size_t per_process = config.count_or("nthreads", 1) * config.count_or("ngpus", 1);
  const bool lists_all = devices.size() > 1 && devices[1].rank == devices[0].rank + 1;
  return lists_all ? devices.size() : devices.size() * per_process;
}

// Without a list of devices the figures tell what they can.
void set_ranks_by_figures(JsonFields& config, const std::vector<Device>& devices, Series& series) {
  constexpr double rounding =
      0.005;  // the text of a number is not known here: two decimals or more
  RankBounds bounds;
  RanksByCount by_count;
  for (const Row& row : series.rows) {
    by_count.add(series.collective, row);
    for (const auto& side : {row.out_of_place, row.in_place}) {
      if (side) bounds.narrow(series.collective, {side->algbw, rounding}, {side->busbw, rounding});
    }
  }
  set_ranks({}, bounds, by_count, series);
  const std::size_t listed = ranks_of(config, devices);
  if (listed == 0 || !bounds.allow(listed)) return;
  series.ranks = listed;
  series.nodes = nodes_of(devices);
  series.least_ranks = 0;
}

void read_conditions(JsonFields& fields, Report& report) {
  report.version = "nccl-tests";
  report.start_time = fields.text_or("start_time");
  report.end_time = fields.text_or("end_time");
  report.args = fields.texts("args");
  if (fields.has("nccl_version")) report.library = nccl_name(fields.integer("nccl_version"));
  for (const std::string& line : fields.texts("env")) {
    const std::size_t equals = line.find('=');
    if (equals == std::string::npos || !concerns_network(line)) continue;
    report.env.emplace_back(line.substr(0, equals), line.substr(equals + 1));
  }
  if (fields.has("errors")) report.errors = fields.texts("errors");
  std::erase(report.errors, "");
}

}  // namespace

Result<Report> import_nccl_json(std::string_view text, const ImportTerms& terms) {
  const auto document = TRY(parse_document(text, terms.file));
  std::string wrong;
  JsonFields fields(document, "", wrong);
  Report report;
  read_conditions(fields, report);
  JsonFields config = fields.object("config");
  config.each("devices",
              [&](JsonFields& device) { report.devices.push_back(read_nccl_device(device)); });
  Series& series = report.series.emplace_back();
  series.backend = "nccl";
  fields.each("results", [&](JsonFields& result) { series.rows.push_back(read_nccl_row(result)); });
  if (!wrong.empty()) return usage("cannot read " + printable(terms.file), printable(wrong));
  const auto named = report.args.empty() ? std::nullopt : collective_of_program(report.args[0]);
  const auto collective = named ? named : terms.collective;
  if (!collective) {
    return usage("cannot read " + printable(terms.file),
                 "the args of an event do not name a collective", "name the collective");
  }
  series.collective = *collective;
  set_ranks_by_figures(config, report.devices, series);
  if (!wrong.empty()) return usage("cannot read " + printable(terms.file), printable(wrong));
  return report;
}

}  // namespace toprun::bench
