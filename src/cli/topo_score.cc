#include "cli/topo_score.h"

#include <CLI/CLI.hpp>

#include "base/console.h"
#include "base/files.h"
#include "base/print.h"
#include "cli/topo_job.h"
#include "options/plan_options.h"
#include "options/values.h"
#include "placement/groups.h"
#include "placement/score_text.h"

namespace toprun::cli {
namespace {

struct ScoreOptions {
  JobOptions job;
  options::PlanOptions plan;
  std::optional<std::string> size;
  std::optional<std::string> order_file;
  bool json = false;
};

Result<placement::Terms> terms_of(const ScoreOptions& options, const topology::Map& map) {
  placement::Terms terms;
  const auto told = options::parse_links(options.plan);
  if (!told) return std::unexpected(told.error());
  auto links = placement::links_of(map, *told, options.job.nproc_per_node);
  if (!links) return std::unexpected(links.error());
  terms.links = *std::move(links);
  if (options.size) {
    const auto bytes = options::parse_size({"--size", *options.size});
    if (!bytes) return std::unexpected(bytes.error());
    terms.message_bytes = static_cast<double>(*bytes);
  }
  if (options.order_file) {
    auto text = read_file(*options.order_file);
    if (!text) return usage("--order: " + text.error().what, text.error().why);
    terms.listed = {*options.order_file, *std::move(text)};
  }
  return terms;
}

// What the orders mean to parallel groups, below the table or inside the object.
struct GroupParts {
  std::string text;
  std::string json;
  std::vector<std::string> warnings;
};

Result<GroupParts> group_parts(const options::PlanOptions& options, const Job& job) {
  const auto plan = options::parse_plan(options);
  if (!plan) return std::unexpected(plan.error());
  if (!plan->has_value()) return GroupParts{};
  auto table = placement::tabulate_groups(job.hosts, job.map, **plan);
  if (!table) return std::unexpected(table.error());
  return GroupParts{"\n" + placement::groups_text(*table), placement::groups_json(*table),
                    std::move(table->warnings)};
}

Result<int> print_score(const ScoreOptions& options, const Environment& environment) {
  const auto job = find_job(options.job, environment);
  if (!job) return std::unexpected(job.error());
  auto terms = terms_of(options, job->map);
  if (!terms) return std::unexpected(terms.error());
  const auto score = placement::score(job->hosts, job->map, *std::move(terms));
  if (!score) return std::unexpected(score.error());
  const auto groups = group_parts(options.plan, *job);
  if (!groups) return std::unexpected(groups.error());
  if (options.json) return print_bytes(placement::score_json(*score, groups->json));
  const int code = print(placement::score_text(*score) + groups->text);
  say_what_is_unknown(score->source, groups->text.empty() ? score->warnings : groups->warnings);
  if (!score->levels.empty() && placement::all_links_assumed(score->terms.links)) {
    say("no link's figure is known: the times are those of a network that is not oversubscribed; "
        "--link LEVEL=GBPS tells otherwise");
  }
  return code;
}

}  // namespace

int run_topo_score(const std::vector<std::string>& arguments, const Environment& environment) {
  ScoreOptions options;
  CLI::App app("What the order of the nodes costs: as given, by name, torchrun's and toprun's own.",
               "toprun topo score");
  add_job_options(app, options.job);
  add_processes_option(app, options.job);
  options::add_plan_options(app, options.plan);
  app.add_option("--size", options.size, "bytes on each node, as in 16M; 64M unless given")
      ->type_name("SIZE");
  app.add_option("--order", options.order_file,
                 "a file with host names, one or a list per line: scores that order too")
      ->type_name("FILE");
  app.add_flag("--json", options.json, "one JSON object, toprun.topo_score/1");
  constexpr std::array flags = {options::FlagId::topology, options::FlagId::nproc_per_node,
                                options::FlagId::link,     options::FlagId::parallel,
                                options::FlagId::model,    options::FlagId::traffic};
  app.footer("Example: toprun topo score --topology racks.txt --hosts 'n[0-7]' --link rack=400");
  if (const auto code = parse(app, arguments)) return *code;
  if (const auto code = fill_as_launched(app, environment, flags)) return *code;
  const auto printed = print_score(options, environment);
  return printed ? *printed : give_up(printed.error());
}

}  // namespace toprun::cli
