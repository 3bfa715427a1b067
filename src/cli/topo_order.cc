#include "cli/topo_order.h"

#include <CLI/CLI.hpp>

#include "base/console.h"
#include "base/print.h"
#include "base/text.h"
#include "cli/topo_job.h"
#include "cli/topo_wishes.h"
#include "hosts/hostlist.h"
#include "options/values.h"
#include "placement/explain.h"
#include "placement/formats.h"
#include "placement/groups.h"
#include "topology/match.h"

namespace toprun::cli {
namespace {

struct OrderOptions {
  JobOptions job;
  WishOptions wishes;
  std::optional<std::string> format;
  bool json = false;
  bool explain = false;
  std::string explained_host;  // empty: all
};

Result<const placement::Format*> chosen_format(const OrderOptions& options) {
  if (!options.format) {
    return options.json ? placement::find_format("json") : &placement::formats().front();
  }
  if (options.json && options.format != "json") {
    return usage(fmt::format("--json and --format {}", *options.format),
                 "only one form can be printed", "leave one of them out");
  }
  if (const auto* format = placement::find_format(*options.format)) return format;
  std::vector<std::string> names;
  for (const placement::Format& format : placement::formats()) names.emplace_back(format.name);
  const auto meant = did_you_mean(*options.format, names);
  return usage(fmt::format("--format {}", *options.format), "there is no such form",
               meant ? fmt::format("did you mean {}?", *meant)
                     : fmt::format("there are {}", join(names, ", ")));
}

Result<void> check_length(const placement::Format& format, const Job& job,
                          const JobOptions& options) {
  const auto ranks = job.hosts.size() * static_cast<std::size_t>(options.nproc_per_node);
  if (!format.line_per_rank || ranks <= placement::max_rank_lines) return {};
  return usage(fmt::format("--format {}", format.name),
               fmt::format("{} ranks, at most {} can be listed", ranks, placement::max_rank_lines),
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

// Where the host stands whose place is to be explained; nullopt: all are meant.
Result<std::optional<std::size_t>> position_of(const std::string& host,
                                               const placement::Placement& placement) {
  if (host.empty()) return std::nullopt;
  std::vector<std::string> names;
  for (const placement::Node& node : placement.nodes) names.push_back(node.name);
  const topology::Match match = topology::match_hosts({host}, names);
  if (match.known[0]) return match.known[0];
  const auto meant = did_you_mean(host, names);
  return usage(fmt::format("--explain {}", host), "there is no such host in the job",
               meant ? fmt::format("did you mean {}?", *meant) : "topo order lists them");
}

Result<void> add_explanation(const OrderOptions& options, placement::Placement& placement) {
  if (!options.explain) return {};
  const auto position = position_of(options.explained_host, placement);
  if (!position) return std::unexpected(position.error());
  placement::explain(
      placement,
      {.topology = options.job.topology, .segment = options.wishes.segment, .node = *position});
  return {};
}

// Below the table on stdout; JSON has it inside; the other forms' stdout is for programs.
int print_explanation(std::string_view format, const placement::Placement& placement) {
  const std::string text = placement::explanation_text(placement);
  if (format == "json" || text.empty()) return 0;
  if (format == "table") return print("Why\n" + text);
  for (const std::string_view line : split(trim(text), '\n')) say(std::string(line));
  return 0;
}

Result<int> print_order(const OrderOptions& options, const Environment& environment) {
  const auto format = chosen_format(options);
  if (!format) return std::unexpected(format.error());
  const auto plan = options::parse_order_plan(options.wishes.plan);
  if (!plan) return std::unexpected(plan.error());
  auto job = find_job(options.job, environment);
  if (!job) return std::unexpected(job.error());
  if (auto fits = check_length(**format, *job, options.job); !fits) {
    return std::unexpected(fits.error());
  }
  const auto wishes = wishes_of(options.wishes, *plan);
  if (!wishes) return std::unexpected(wishes.error());
  auto placed = placement::place(job->hosts, std::move(job->map), *wishes);
  if (!placed) return std::unexpected(placed.error());
  if (auto added = add_explanation(options, *placed); !added) {
    return std::unexpected(added.error());
  }
  if (const int code = print_bytes((*format)->text(*placed)); code != 0) return code;
  if (const int code = print_explanation((*format)->name, *placed); code != 0) return code;
  // JSON says the same itself.
  if ((*format)->name != "json") say_what_is_unknown(placed->source, placed->warnings);
  if ((*format)->name == "table") say_what_it_saves(*placed);
  if ((*format)->name != "json" && !placed->spare.empty()) {
    say(fmt::format("left out: {}", hosts::compress_hostlist(placed->spare)));
  }
  return 0;
}

std::string format_names() {
  std::vector<std::string> names;
  for (const placement::Format& format : placement::formats()) names.emplace_back(format.name);
  return join(names, "|");
}

std::string footer() {
  std::string text = "Formats:\n";
  for (const placement::Format& format : placement::formats()) {
    text += fmt::format("  {:<12}{}\n", format.name, format.help);
  }
  return text +
         "Examples:\n"
         "  toprun topo order --topology racks.txt --hosts 'n[0-7]' --nproc-per-node 8\n"
         "  toprun topo order --nproc-per-node 8 --format slurm > order\n"
         "  SLURM_HOSTFILE=order srun -n 64 ./program  # ranks in that order";
}

}  // namespace

int run_topo_order(const std::vector<std::string>& arguments, const Environment& environment) {
  OrderOptions options;
  CLI::App app("The job's nodes in topology order, with their ranks and what the order saves.",
               "toprun topo order");
  add_job_options(app, options.job);
  add_processes_option(app, options.job);
  add_wish_options(app, options.wishes);
  app.add_option("--format", options.format, "one of the formats below, table unless given")
      ->type_name(format_names());
  app.add_flag("--json", options.json, "the same as --format json");
  const auto* explain =
      app.add_option("--explain", options.explained_host,
                     "say why each node is where it is, or the one HOST of the job")
          ->type_name("HOST")
          ->expected(0, 1);
  app.footer(footer());
  if (const auto code = parse(app, arguments)) return *code;
  if (const auto code = fill_as_launched(app, environment, rank_flags)) return *code;
  if (const auto code = fill_wishes_as_launched(app, environment, options.wishes)) return *code;
  options.explain = explain->count() > 0;
  const auto printed = print_order(options, environment);
  return printed ? *printed : give_up(printed.error());
}

}  // namespace toprun::cli
