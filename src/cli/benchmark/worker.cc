#include "cli/benchmark/worker.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <numeric>
#include <span>
#include <string>
#include <vector>

#include "base/os/console.h"
#include "base/os/fd.h"
#include "base/os/files.h"
#include "base/text/clock.h"
#include "base/text/text.h"
#include "base/text/version.h"
#include "bench/measure/cells.h"
#include "bench/measure/join.h"
#include "bench/measure/session.h"
#include "bench/tables/compare.h"
#include "bench/tables/figures.h"
#include "bench/tables/json.h"
#include "bench/tables/live_table.h"
#include "bench/tables/measurement.h"
#include "bench/tables/tables.h"
#include "cli/benchmark/files.h"
#include "cli/benchmark/plot.h"
#include "cli/benchmark/program.h"
#include "cli/benchmark/rate.h"
#include "cli/benchmark/request.h"
#include "cli/options/split.h"
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

// Only rank 0 knows them.
std::vector<bench::Device> devices_of(const measure::Group& group,
                                      std::span<const measure::Opened> opened) {
  std::vector<bench::Device> devices;
  for (const measure::Peer& peer : group.peers) {
    const measure::Opened::Device& device = opened.back().devices.at(peer.rank);
    devices.push_back({peer.rank, peer.host, peer.pid, device.number, device.name, device.bus_id});
  }
  return devices;
}

std::string text_of(const measure::Limit& limit) {
  if (limit.share == 1) return limit.link;
  return fmt::format("{} and TCP can carry {:.1f} % of its bits", limit.link, 100 * limit.share);
}

// Of an uplink; remarks() have what a node's own line cannot have carried.
std::string excess_text(const bench::Series& series, std::string_view limit) {
  constexpr double clearly = 1.1;
  const auto plateau = bench::plateau_of(series);
  if (!plateau || !limit.starts_with(measure::uplink_word)) return {};
  const double busbw = bench::side_of(plateau->row)->busbw;
  if (bench::gbps_of(busbw) <= clearly * *series.limit_gbps) return {};
  return fmt::format("; the measured {} GB/s is more, so --uplink-gbps or the topology is wrong{}",
                     bench::rate_text(busbw),
                     series.backend == "tcp" ? "" : ", or the library used another algorithm");
}

std::vector<double> means(const std::vector<std::vector<double>>& turns) {
  std::vector<double> found;
  for (const auto& turn : turns) {
    found.push_back(std::accumulate(turn.begin(), turn.end(), 0.0) /
                    static_cast<double>(turn.size()));
  }
  return found;
}

// Prints and saves the results on rank 0. In the table format and the format of nccl-tests, each
// row is printed immediately. Other formats are printed at the end. The saved file always contains
// all rows so far, so an interrupted measurement is not lost.
class BenchOutput {
 public:
  BenchOutput(const BenchRequest& request, const measure::Group& group,
              std::span<const measure::Opened> opened, std::span<const measure::Cell> cells,
              std::vector<std::string> argv, const Environment& environment)
      : request_(request), environment_(environment) {
    report_.version = fmt::format("toprun {}", version);
    report_.start_time = now();
    report_.args.assign(argv.begin() + 1, argv.end());
    report_.args.front() = "bench";  // the launch calls the ranks by worker_word
    for (const measure::Opened& one : opened) {
      report_.library += (report_.library.empty() ? "" : ", ") + one.library;
    }
    report_.devices = devices_of(group, opened);
    for (const measure::Cell& cell : cells) {
      const auto limit = measure::limit_of(request.measured.collective, cell, group.peers,
                                           request.measured.root, request.rates);
      report_.series.push_back(series_of(request, cell, limit));
      limits_.push_back(limit ? text_of(*limit) : "");
    }
    await_is_read(STDERR_FILENO);  // the heading and its rows stand together
    if (request.format == "nccl-tests" && !is_comparison()) {
      print(bench::nccl_header(report_, report_.series.front()));
    }
    if (request.format != "table") return;
    columns_ = bench::columns_of(report_.series.front());
    print(!is_comparison() ? bench::live_heading(report_.series.front(), columns_)
                           : bench::comparison_heading(report_.series.front()));
  }

  void add(const measure::CellRow& measured) {
    report_.series[measured.cell].rows.push_back(measured.row);
    if (!is_comparison()) {
      print_row(measured);
    } else {
      of_this_size_.push_back(measured);
      if (of_this_size_.size() == report_.series.size()) print_comparison();
    }
    if (saved_) saved_ = save();
  }
  // Prints what is not printed yet, and returns the exit code: failure if elements were wrong or
  // the file cannot be written.
  Result<int> finish() {
    report_.end_time = now();
    const bool is_table = request_.format == "table";
    const bool is_printed = is_table || (request_.format == "nccl-tests" && !is_comparison());
    if (is_printed) await_is_read(STDOUT_FILENO);
    if (is_table) print_remarks();
    if (!is_printed) print_bytes(formatted(report_, request_.format));
    if (request_.format == "nccl-tests" && is_printed) {
      print(bench::nccl_footer(report_.series.front()));
    }
    if (saved_ && request_.save) {
      saved_ = write_result(*request_.save, bench::report_json(report_), environment_);
    }
    if (!saved_) return std::unexpected(saved_.error());
    if (request_.plot) {
      const auto svg = TRY(drawn(report_));
      const auto picture = TRY(picture::picture_for(*request_.plot, svg, environment_));
      TRY(write_result(*request_.plot, picture, environment_));
    }
    if (request_.history) {
      const auto added = TRY(add_to_history(report_, environment_));
      say("added the results to " + added + where_written(environment_));
    }
    return judge();
  }

 private:
  void print_row(const measure::CellRow& measured) {
    if (request_.format == "table") {
      print(bench::live_row(report_.series[measured.cell], measured.row, columns_));
    } else if (request_.format == "nccl-tests") {
      print(bench::nccl_row(measured.row));
    }
  }
  void print_comparison() {
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
  void print_remarks() const {
    for (std::size_t i = 0; i < report_.series.size(); ++i) {
      const bench::Series& series = report_.series[i];
      if (series.limit_gbps) {
        say(fmt::format("{}{}: {}, so busbw is at most {:.3g} GB/s{}",
                        series.order.empty() ? "" : "order " + series.order + " on ",
                        counted(series.nodes, "node"), limits_[i], *series.limit_gbps / 8,
                        excess_text(series, limits_[i])));
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
  bool is_comparison() const { return report_.series.size() > 1; }
  Result<int> judge() const {
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
  Result<void> save() const {
    if (!request_.save || is_special(*request_.save)) return {};
    return replace_file(*request_.save, bench::report_json(report_));
  }

  const BenchRequest& request_;
  const Environment& environment_;
  bench::Report report_;
  bench::TableColumns columns_;                 // columns of the table format
  std::vector<std::string> limits_;             // what limits the speed of each cell; empty:
                                                // unknown
  std::vector<measure::CellRow> of_this_size_;  // rows of the current size, by cell
  Result<void> saved_;
};

using measure::Cell;

constexpr std::chrono::seconds join_limit{120};

// As the verb read it: the words behind "bench"; the first may name a verb of its own.
Result<options::Call> call_of(const std::vector<std::string>& argv,
                              const Environment& environment) {
  std::vector<std::string> own(argv.begin() + 2, argv.end());
  auto command = options::Command::bench;
  if (own.front() == "pairs") {
    command = options::Command::bench_pairs;
    own.erase(own.begin());
  }
  auto split = TRY(options::split_verb(own, command));
  return options::Call{command, std::move(split), environment, own};
}

// A picture shows busbw, which one rank alone does not have.
Result<void> check_plot(const BenchRequest& request, std::span<const Cell> cells) {
  const std::string what = "--plot " + *request.plot;
  if (request.measured.collective == bench::Collective::barrier) {
    return usage(what, "a barrier does not transfer data, so it does not have a busbw",
                 "leave --plot out");
  }
  const auto is_alone = [](const Cell& cell) { return cell.ranks.size() < 2; };
  if (!std::ranges::all_of(cells, is_alone)) return {};
  return usage(what, "a single rank does not have a busbw",
               "start more ranks, as with --nproc-per-node 2, or leave --plot out");
}

// Before anything is measured: what only the started job tells.
Result<void> check(const BenchRequest& request, const measure::Group& group,
                   std::span<const Cell> cells) {
  if (request.measured.root >= group.self.size) {
    return usage(fmt::format("--root {}", request.measured.root),
                 fmt::format("the job has ranks 0 to {}", group.self.size - 1));
  }
  if (request.plot) {
    if (auto figures = check_plot(request, cells); !figures) return figures;
  }
  for (const Cell& cell : cells) {
    if (!cell.position_of(request.measured.root)) {
      return usage(fmt::format("--root {}", request.measured.root),
                   "this rank is not among the compared ranks");
    }
  }
  return {};
}

// Rank 0 tells the others what it does not know a usual busbw for.
Result<void> check_usual(const BenchRequest& request, measure::Group& group,
                         const std::vector<measure::Opened>& opened, std::span<const Cell> cells) {
  if (!request.expected || request.expected->busbw) return {};
  const std::string key = fmt::format("toprun.bench/{}/unusual", group.self.attempt);
  if (group.self.rank == 0) {
    bench::Report report;
    report.devices = devices_of(group, opened);
    std::string unusual;
    for (const Cell& cell : cells) {
      const bench::Series series = series_of(request, cell, std::nullopt);
      if (!unusual.empty() || bench::anchor_of(report, series) != nullptr) continue;
      unusual = bench::what_was_run(series);
    }
    TRY(group.store.set(key, unusual));
  }
  const auto arrived = TRY(group.store.wait(std::span(&key, 1), join_limit));
  if (!arrived) {
    return fail(fmt::format("rank 0 did not say within {} s whether a usual busbw is known",
                            join_limit.count()));
  }
  const auto unusual = TRY(group.store.get(key));
  if (unusual.empty()) return {};
  return usage("--expect-busbw usual",
               fmt::format("{}: no usual busbw is known for this hardware", unusual),
               "give the expected busbw in GB/s");
}

// Several ranks may lack the same library, or refuse the same request. The first says so, and the
// others end without a word. True: this rank is the first, or it cannot tell.
bool is_first_to_say(measure::Group& group, const Error& error) {
  const auto said = group.store.add(
      fmt::format("toprun.bench/{}/refused/{}", group.self.attempt, error.line()), 1);
  return !said || *said == 1;
}

// In the order in which the request names them.
Result<std::vector<measure::Opened>> open_backends(const BenchRequest& request,
                                                   std::span<const measure::NamedBackend> backends,
                                                   measure::Group& group,
                                                   const Environment& environment) {
  std::vector<measure::Opened> all;
  for (const std::string& name : request.measured.backends) {
    const auto& backend = *std::ranges::find(backends, name, &measure::NamedBackend::name);
    auto opened = TRY(backend.open(group, environment));
    opened.name = name;
    all.push_back(std::move(opened));
  }
  return all;
}

// What the command line does not say of the links, on rank 0, which prints it. Over several fabrics
// there is no one rate.
void find_rates(BenchRequest& request, const measure::Group& group) {
  const measure::Peer& self = group.peers[group.self.rank];
  if (self.rank != 0 || group.self.nodes < 2) return;
  const OwnLink link = own_link(request.measured.backends, self.address);
  request.rates.tcp_share = measure::tcp_share(link.mtu, self.address.contains(':'));
  if (request.rates.node || !request.measured.fabrics.empty()) return;
  request.rates.node = link.line_gbps;
  if (!request.rates.node) return;
  say(fmt::format(
      "{} Gbps is the line rate of {} according to its kernel; --link-gbps sets another rate",
      *request.rates.node, self.host));
}

Result<int> measure_cells(BenchRequest request, measure::Group& group,
                          const std::vector<measure::Opened>& opened,
                          const std::vector<std::string>& argv, const Environment& environment) {
  const auto compared = TRY(measure::compared(request.measured, group.peers, group.self.order));
  const std::vector<Cell>& cells = compared.cells;
  TRY(check(request, group, cells));
  TRY(check_usual(request, group, opened, cells));
  const auto make = [&](measure::Group& all, const measure::Request& measured, std::size_t index,
                        measure::CellMesh& mesh) {
    const auto& its = *std::ranges::find(opened, cells[index].backend, &measure::Opened::name);
    return its.make(all, measured, index, mesh);
  };
  if (group.self.rank != 0) {
    auto done = measure::measure(group, request.measured, cells, make, {});
    return done ? Result<int>(0) : std::unexpected(done.error());
  }
  for (const std::string& line : compared.dropped) say(line);
  find_rates(request, group);
  BenchOutput output(request, group, opened, cells, argv, environment);
  measure::ProgressLines lines(std::chrono::steady_clock::now());
  const measure::Callbacks reported{
      [&](const measure::CellRow& row) { output.add(row); },
      [&](const measure::Progress& progress) {
        if (const auto line = lines.at(progress, std::chrono::steady_clock::now())) say(*line);
      },
      [](const std::string& line) { say(line); }};
  TRY(measure::measure(group, request.measured, cells, make, reported));
  return output.finish();
}

// On the host of rank 0, which writes the files after all has been measured.
Result<void> check_files(const options::Call& call, const measure::Group& group) {
  if (group.peers[group.self.rank].host != group.peers.front().host) return {};
  using enum options::FlagId;
  for (const options::FlagId id : {save, plot, exclude_bad}) {
    const auto argument = call.argument(id);
    if (!argument) continue;
    const auto fine = check_named_file(argument->value);
    if (!fine)
      return usage(argument->label(), fine.error()->what + ": " + fine.error()->why,
                   "name a file in a folder where you may write");
  }
  return {};
}

Result<int> work(const std::vector<std::string>& argv, const Environment& environment,
                 std::span<const measure::NamedBackend> backends) {
  const auto call = TRY(call_of(argv, environment));
  const bool is_pairs = call.command == options::Command::bench_pairs;
  auto request = TRY(is_pairs ? Result<BenchRequest>() : bench_request(call));
  const auto self = TRY(measure::self_from(environment));
  std::vector<std::string>& requested = request.measured.backends;
  if (requested.empty() && !is_pairs) {
    auto usual = TRY(usual_backend(self, environment, join_limit));
    requested = {std::move(usual)};
  }
  const auto is_here = [&](const std::string& name) {
    return std::ranges::find(backends, name, &measure::NamedBackend::name) != backends.end();
  };
  if (!std::ranges::all_of(requested, is_here)) {
    return become_bench_program(argv, requested, self, join_limit);
  }
  auto group = TRY(measure::join(self, join_limit));
  if (const auto fine = check_files(call, group); !fine) {
    return is_first_to_say(group, fine.error()) ? Result<int>(std::unexpected(fine.error()))
                                                : Result<int>(0);
  }
  const auto said_once = [&](Result<int> done) {
    const bool is_refused = !done && done.error()->exit_code == exit_usage;
    return is_refused && !is_first_to_say(group, done.error()) ? 0 : done;
  };
  if (is_pairs) return said_once(run_pairs(call, group));
  if (group.self.rank == 0) {
    if (const auto unused = unused_size(call, request.measured.collective)) say(*unused);
  }
  if (request.bisect) return said_once(run_bisect(argv, request, group, environment));
  const auto opened = open_backends(request, backends, group, environment);
  if (!opened && !is_first_to_say(group, opened.error())) return 0;
  if (!opened) return std::unexpected(opened.error());
  return said_once(measure_cells(std::move(request), group, *opened, argv, environment));
}

}  // namespace

int run_worker(const std::vector<std::string>& argv, const Environment& environment,
               std::span<const measure::NamedBackend> backends) {
  raise_open_files();  // a connection to each other rank
  const auto code = work(argv, environment, backends);
  return code ? *code : give_up(code.error());
}

}  // namespace toprun::benchmark
