#include "cli/benchmark/bench_output.h"

#include <fmt/format.h>

#include <chrono>
#include <numeric>

#include "base/os/console.h"
#include "base/os/files.h"
#include "base/text/clock.h"
#include "base/text/text.h"
#include "base/text/version.h"
#include "bench/tables/anchors.h"
#include "bench/tables/compare.h"
#include "bench/tables/figures.h"
#include "bench/tables/json.h"
#include "bench/tables/live_table.h"
#include "bench/tables/tables.h"
#include "cli/benchmark/files.h"
#include "cli/benchmark/plot.h"
#include "observe/picture/picture_file.h"
#include "run/model/exit.h"

namespace toprun::benchmark {
namespace {

std::string now() {
  return rfc3339(std::chrono::system_clock::now());
}

bench::Series series_of(const BenchRequest& request, const measure::Cell& cell,
                        const std::optional<measure::Limit>& limit) {
  bench::Series series;
  series.collective = request.measured.collective;
  series.backend = cell.backend;
  series.fabric = cell.fabric;
  series.order = cell.order;
  series.ranks = cell.ranks.size();
  series.nodes = cell.nodes;
  series.line_gbps = request.rates.node;
  if (limit) series.limit_gbps = limit->busbw_gbps;
  return series;
}

std::string text_of(const measure::Limit& limit) {
  if (limit.share == 1) return limit.link;
  return fmt::format("{} and TCP can carry {:.1f} % of its bits", limit.link, 100 * limit.share);
}

std::vector<double> means(const std::vector<std::vector<double>>& turns) {
  std::vector<double> found;
  for (const auto& turn : turns) {
    found.push_back(std::accumulate(turn.begin(), turn.end(), 0.0) /
                    static_cast<double>(turn.size()));
  }
  return found;
}

}  // namespace

BenchOutput::BenchOutput(const BenchRequest& request, const measure::Group& group,
                         std::span<const measure::Opened> opened,
                         std::span<const measure::Cell> cells, std::vector<std::string> argv,
                         const Environment& environment)
    : request_(request), environment_(environment) {
  report_.version = fmt::format("toprun {}", version);
  report_.start_time = now();
  report_.args.assign(argv.begin() + 1, argv.end());
  for (const measure::Opened& one : opened) {
    report_.library += (report_.library.empty() ? "" : ", ") + one.library;
  }
  for (const measure::Peer& peer : group.peers) {
    const measure::Opened::Device& device = opened.back().devices.at(peer.rank);
    report_.devices.push_back(
        {peer.rank, peer.host, peer.pid, device.number, device.name, device.bus_id});
  }
  for (const measure::Cell& cell : cells) {
    const auto limit = measure::limit_of(request.measured.collective, cell, group.peers,
                                         request.measured.root, request.rates);
    report_.series.push_back(series_of(request, cell, limit));
    limits_.push_back(limit ? text_of(*limit) : "");
  }
  if (request.format == "nccl-tests" && !is_comparison()) {
    print(bench::nccl_header(report_, report_.series.front()));
  }
  if (request.format != "table") return;
  columns_ = bench::columns_of(report_.series.front());
  print(!is_comparison() ? bench::live_heading(report_.series.front(), columns_)
                         : bench::comparison_heading(report_.series.front()));
}

void BenchOutput::add(const measure::CellRow& measured) {
  report_.series[measured.cell].rows.push_back(measured.row);
  if (!is_comparison()) {
    print_row(measured);
  } else {
    of_this_size_.push_back(measured);
    if (of_this_size_.size() == report_.series.size()) print_comparison();
  }
  if (saved_) saved_ = save();
}

void BenchOutput::print_row(const measure::CellRow& measured) {
  if (request_.format == "table") {
    print(bench::live_row(report_.series[measured.cell], measured.row, columns_));
  } else if (request_.format == "nccl-tests") {
    print(bench::nccl_row(measured.row));
  }
}

void BenchOutput::print_comparison() {
  const std::vector<double> first = means(of_this_size_.front().turns);
  for (const measure::CellRow& one : of_this_size_) {
    const auto ratio = one.cell == of_this_size_.front().cell
                           ? std::nullopt
                           : bench::paired_ratio(means(one.turns), first);
    if (request_.format == "table") {
      print(bench::comparison_row(report_.series[one.cell], one.row, ratio));
    }
  }
  of_this_size_.clear();
}

Result<int> BenchOutput::finish() {
  report_.end_time = now();
  const bool is_table = request_.format == "table";
  const bool is_printed = is_table || (request_.format == "nccl-tests" && !is_comparison());
  if (is_table) print_remarks();
  if (!is_printed) print_bytes(formatted(report_, request_.format));
  if (request_.format == "nccl-tests" && is_printed) {
    print(bench::nccl_footer(report_.series.front()));
  }
  if (saved_ && request_.save) {
    saved_ = write_and_say(*request_.save, bench::report_json(report_));
  }
  if (!saved_) return std::unexpected(saved_.error());
  if (request_.plot) {
    const auto svg = TRY(drawn(report_));
    TRY(picture::write_picture(*request_.plot, svg, environment_));
  }
  if (request_.history) {
    const auto added = TRY(add_to_history(report_, environment_));
    say("added the results to " + added);
  }
  return judge();
}

Result<int> BenchOutput::judge() const {
  std::uint64_t wrong = 0;
  for (const bench::Series& series : report_.series) wrong += bench::wrong_elements(series);
  if (wrong > 0) {
    say(fmt::format("{} of the results are wrong", counted(wrong, "element")));
    return model::exit_found;
  }
  if (!request_.expected) return 0;
  const bench::Verdict verdict = bench::gate(report_, *request_.expected);
  say(verdict.sentence);
  return verdict.is_passed ? 0 : model::exit_found;
}

void BenchOutput::print_remarks() const {
  for (std::size_t i = 0; i < report_.series.size(); ++i) {
    const bench::Series& series = report_.series[i];
    if (series.limit_gbps) {
      say(fmt::format("order {} on {}: {}, so busbw is at most {:.3g} GB/s", series.order,
                      counted(series.nodes, "node"), limits_[i], *series.limit_gbps / 8));
    }
    if (i > 0) continue;
    for (const std::string& remark : bench::remarks(series)) say(remark);
    const auto plateau = bench::plateau_of(series);
    const bench::Anchor* const anchor = bench::anchor_of(report_, series);
    if (anchor != nullptr && plateau && plateau->row.bytes >= bench::smallest_anchored) {
      say(bench::anchor_sentence(*anchor, series));
    }
  }
}

Result<void> BenchOutput::save() const {
  if (!request_.save || is_special(*request_.save)) return {};
  return replace_file(*request_.save, bench::report_json(report_));
}

}  // namespace toprun::benchmark
