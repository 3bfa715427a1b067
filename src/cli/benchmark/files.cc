#include "cli/benchmark/files.h"

#include <fcntl.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <thread>

#include "base/net/address.h"
#include "base/os/console.h"
#include "base/os/fd.h"
#include "base/os/files.h"
#include "bench/tables/compare.h"
#include "bench/tables/history.h"
#include "bench/tables/import.h"
#include "bench/tables/json.h"
#include "bench/tables/live_table.h"
#include "bench/tables/tables.h"
#include "cli/benchmark/plot.h"
#include "cli/benchmark/request.h"
#include "observe/picture/picture_file.h"
#include "run/model/exit.h"

namespace toprun::benchmark {
namespace {

using options::Call;
using options::FlagId;

Result<bench::Report> read_report(const Call& call, std::size_t operand) {
  const std::string file = call.operand(operand);
  const auto text = read_file(file, bench::max_import_bytes);
  if (!text) return usage(text.error()->what, text.error()->why);
  bench::ImportTerms terms{file, std::nullopt};
  if (const auto argument = call.argument(FlagId::collective)) {
    const auto name = TRY(options::parse_choice(
        *argument, options::choices(options::flag_of(FlagId::collective, call.command))));
    terms.collective = bench::find_collective(name);
  }
  auto report = bench::import_report(*text, terms);
  if (report) {
    for (const std::string& note : report->notes) say("warning: " + note);
  }
  return report;
}

// What AFTER must reach of BEFORE's speed; nullopt: nothing is asked.
Result<std::optional<double>> share_to_reach(const Call& call) {
  const auto argument = call.argument(FlagId::fail_below);
  if (!argument) return std::nullopt;
  const auto share = TRY(positive(*argument));
  return share;
}

std::string tables(const bench::Report& report) {
  std::string out;
  const bench::Kinds kinds = bench::kinds_in(report.series);
  for (const bench::Series& series : report.series) {
    if (!out.empty()) out += '\n';
    bench::TableColumns columns = bench::columns_of(series);
    columns.kinds = kinds;
    out += bench::live_heading(series, columns);
    for (const bench::Row& row : series.rows) out += bench::live_row(series, row, columns);
  }
  return out;
}

namespace fs = std::filesystem;
using options::Call;
using options::FlagId;

constexpr std::size_t most_bytes = std::size_t{64} << 20;
constexpr int most_shown = 1000;

Result<fs::path> own_file(const Environment& environment) {
  const auto state = environment.non_empty("XDG_STATE_HOME");
  const auto home = environment.non_empty("HOME");
  if (!state && !home)
    return fail("cannot find the history file", "neither HOME nor XDG_STATE_HOME is set");
  return (state ? fs::path(*state) : fs::path(*home) / ".local/state") / "toprun/bench.jsonl";
}

}  // namespace

std::string formatted(const bench::Report& report, std::string_view format) {
  if (format == "nccl-tests") return bench::nccl_text(report);
  if (format == "markdown") return bench::markdown(std::span(&report, 1));
  if (format == "csv") return bench::csv(std::span(&report, 1));
  if (format == "json") return bench::report_json(report);
  return tables(report);
}

Result<int> run_bench_compare(const Call& call) {
  const auto before = TRY(read_report(call, 0));
  const auto after = TRY(read_report(call, 1));
  const auto share = TRY(share_to_reach(call));
  const bench::Comparison comparison = bench::compare(before, after);
  const int code = print(bench::comparison_text(comparison, share));
  if (comparison.rows.empty())
    return usage(call.operand(0) + " and " + call.operand(1),
                 "the two files have no measurement in common",
                 "compare files of the same collectives, ranks and sizes");
  if (share) {
    const bench::Verdict verdict = bench::gate(comparison, *share);
    say(verdict.sentence);
    return code == 0 && !verdict.is_passed ? model::exit_found : code;
  }
  if (const auto unjudged = bench::what_could_not_be_judged(comparison)) {
    say("warning: " + *unjudged);
  }
  if (const auto limit = bench::what_counts(comparison)) say(*limit);
  const bool is_slower = std::ranges::any_of(comparison.rows, [](const bench::Compared& row) {
    return row.change == bench::Change::slower;
  });
  return code == 0 && is_slower ? model::exit_found : code;
}

Result<int> run_bench_import(const Call& call) {
  const auto format = TRY(call.choice(FlagId::format));
  const auto report = TRY(read_report(call, 0));
  const int printed = print_bytes(formatted(report, format));
  if (const auto save = call.text(FlagId::save)) {
    TRY(write_and_say(*save, bench::report_json(report)));
  }
  if (const auto plot = call.text(FlagId::plot)) {
    const auto svg = TRY(drawn(report));
    TRY(picture::write_picture(*plot, svg, call.environment));
  }
  return printed;
}

std::string where_written(const Environment& environment) {
  const auto typed_on = environment.non_empty(typed_on_variable);
  const std::string own = hosts::host_name();
  if (!typed_on || *typed_on == own) return {};
  return " on " + environment.non_empty("TOPRUN_NODE_NAME").value_or(own);
}

Result<void> write_result(const std::string& file, std::string_view content,
                          const Environment& environment) {
  auto written = write_named_file(file, content);
  if (written) say("wrote " + file + where_written(environment));
  return written;
}

// The kernel does not order two pipes. An agent that has read one may still have to pass it on.
void await_is_read(int output) {
  constexpr int most_waits = 500;
  constexpr std::chrono::milliseconds wait{1}, passing_on{20};
  struct stat status {};
  // Of a terminal, FIONREAD counts what was typed ahead.
  if (::fstat(output, &status) != 0) return;
  if (!S_ISFIFO(status.st_mode) && !S_ISSOCK(status.st_mode)) return;
  int unread = 0;
  for (int i = 0; i < most_waits; ++i) {
    if (::ioctl(output, FIONREAD, &unread) != 0) return;
    if (unread == 0) break;
    std::this_thread::sleep_for(wait);
  }
  std::this_thread::sleep_for(passing_on);
}

Result<std::string> add_to_history(const bench::Report& report, const Environment& environment) {
  const auto file = TRY(own_file(environment));
  std::error_code error;
  fs::create_directories(file.parent_path(), error);
  if (error) return fail("cannot make " + file.parent_path().string(), error.message());
  const Fd out(::open(file.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0644));
  if (!out) return fail_errno("cannot write " + file.string());
  // One write, so that lines of two jobs do not mix.
  const std::string line = bench::history_line(report);
  const ssize_t written = ::write(out.get(), line.data(), line.size());
  if (written < 0) return fail_errno("cannot write " + file.string());
  if (static_cast<std::size_t>(written) < line.size()) {
    return fail("cannot write " + file.string(), "only a part of the line could be written",
                "free some space on that file system");
  }
  return file.string();
}

Result<int> run_bench_history(const Call& call) {
  std::size_t shown = 10;
  TRY(OptionReader(call).number(FlagId::last, shown, 1, most_shown).done());
  std::string file = call.operand(0);
  if (file.empty()) {
    file = TRY(own_file(call.environment));
  }
  const auto text = read_file(file, most_bytes);
  if (!text) {
    return usage(text.error()->what, text.error()->why,
                 "toprun bench COLLECTIVE --history creates the history file");
  }
  const bench::History history = bench::read_history(*text, file);
  for (const std::string& line : history.unreadable) say(file + ", " + line);
  const auto kinds = bench::kinds_of(history.reports);
  if (kinds.empty()) return usage(file, "the file contains no measurement");
  if (const auto plot = call.text(FlagId::plot)) {
    const auto svg = TRY(drawn(kinds));
    TRY(picture::write_picture(*plot, svg, call.environment));
  }
  return print_bytes(bench::history_text(kinds, shown));
}

}  // namespace toprun::benchmark
