#include "base/net/hostlist.h"
#include "base/os/console.h"
#include "base/text/text.h"
#include "cli/config/config_file.h"
#include "cli/options/call.h"
#include "cli/options/flags.h"
#include "cli/options/plan_options.h"
#include "cli/options/values.h"
#include "cli/verbs/output_file.h"
#include "cli/verbs/run_verbs.h"
#include "cli/verbs/topo/job.h"
#include "decide/placement/groups.h"
#include "decide/topology/match.h"
#include "observe/report/explain.h"
#include "observe/report/formats.h"

namespace toprun::cli {
namespace {

using options::Call;
using options::FlagId;

Result<const report::Format*> chosen_format(const Call& call) {
  const auto argument = call.argument(FlagId::format);
  const bool as_json = call.has(FlagId::json);
  if (!argument) return report::find_format(as_json ? "json" : "table");
  if (as_json && argument->value != "json") {
    return usage(fmt::format("--json and {}", argument->label()), "only one format can be printed",
                 "leave one of them out");
  }
  if (const auto* format = report::find_format(argument->value)) return format;
  std::vector<std::string> names;
  for (const report::Format& format : report::formats()) names.emplace_back(format.name);
  return usage(argument->label(), "no format has this name",
               config::nearest_or_all(argument->value, names));
}

Result<void> check_length(const report::Format& format, const PlacedJob& job) {
  std::size_t ranks = 0;
  for (const placement::Host& host : job.hosts) ranks += static_cast<std::size_t>(host.nproc);
  if (!format.line_per_rank || ranks <= report::max_rank_lines) return {};
  return usage(fmt::format("--format {}", format.name),
               fmt::format("the job has {} ranks, but toprun can list at most {}", ranks,
                           report::max_rank_lines),
               "give fewer --hosts or a smaller --nproc-per-node");
}

void say_what_it_saves(const placement::Placement& placement) {
  for (const placement::Crossings& ring : placement.ring) {
    say(fmt::format("{}: {} of {} neighbours in another {} as given, {} as ordered (minimum {})",
                    ring.level, ring.given, placement.nodes.size(), ring.level, ring.ordered,
                    ring.minimum));
  }
  if (placement.mapping) say("parallel: " + placement::mapping_text(*placement.mapping));
}

// The position of the host to explain; nullopt: all hosts.
Result<std::optional<std::size_t>> position_of(const std::string& host,
                                               const placement::Placement& placement) {
  if (host.empty()) return std::nullopt;
  std::vector<std::string> names;
  for (const placement::Node& node : placement.nodes) names.push_back(node.name);
  const topology::Match match = topology::match_hosts({host}, names);
  if (match.known[0]) return match.known[0];
  const auto meant = did_you_mean(host, names);
  return usage(
      fmt::format("--explain {}", host), "the job has no host with this name",
      meant ? fmt::format("did you mean {}?", *meant) : "toprun topo order lists the hosts");
}

Result<void> add_explanation(const Call& call, const PlacedJob& job, std::size_t segment,
                             placement::Placement& placement) {
  const auto host = call.text(FlagId::explain);
  if (!host) return {};
  const auto position = TRY(position_of(*host, placement));
  report::explain(placement, {.topology = job.topology, .segment = segment, .node = position});
  return {};
}

// Below the table; JSON has it inside; the other forms are for programs, so stderr gets it.
std::string with_explanation(std::string table, const placement::Placement& placement) {
  const std::string text = report::explanation_text(placement);
  return text.empty() ? table : table + "Why\n" + text;
}

void say_explanation(const placement::Placement& placement) {
  const std::string text = report::explanation_text(placement);
  if (text.empty()) return;
  for (const std::string_view line : split(trim(text), '\n')) say(std::string(line));
}

// What a launch refuses too, with --topology-required.
Result<void> check_places(const Call& call, const placement::Placement& placement) {
  const options::Flag& flag = *options::find_flag("--topology-required", call.command);
  const auto argument = options::argument_of(flag, call.split, call.environment);
  if (!argument || placement.unplaced.empty()) return {};
  const auto required = TRY(options::parse_switch(*argument));
  if (!required) return {};
  return fail(argument->source,
              "the places of these nodes in the network are not known: " +
                  hosts::short_list(placement.unplaced),
              "add the nodes to a file, and name the file with --topology FILE");
}

// Links from a file or a variable are used only with --parallel.
options::PlanOptions asked_plan(const Call& call) {
  options::PlanOptions plan = options::plan_options(call);
  const auto link = call.argument(FlagId::link);
  if (!plan.parallel && link && !link->is_typed()) plan.links.clear();
  return plan;
}

}  // namespace

Result<int> run_topo_order(const options::Call& call) {
  const auto format = TRY(chosen_format(call));
  const auto plan = TRY(options::parse_order_plan(asked_plan(call)));
  auto job = TRY(find_job(call));
  TRY(check_length(*format, job));
  const auto constraints = TRY(constraints_of(call, plan));
  auto placed = TRY(placement::place(job.hosts, std::move(job.map), constraints));
  TRY(check_places(call, placed));
  TRY(add_explanation(call, job, constraints.segment, placed));
  const bool is_table = format->name == "table";
  std::string text = format->text(placed);
  if (is_table) text = with_explanation(std::move(text), placed);
  if (const int code = TRY(put_out(call, text)); code != 0) return code;
  if (!is_table && format->name != "json") say_explanation(placed);
  // The JSON output contains the same.
  if (format->name != "json") say_what_is_unknown(placed.source, placed.warnings);
  if (is_table) say_what_it_saves(placed);
  if (format->name != "json" && !placed.spare.empty()) {
    say(fmt::format("the job does not use these hosts: {}",
                    hosts::compress_hostlist(placed.spare)));
  }
  return 0;
}

}  // namespace toprun::cli
