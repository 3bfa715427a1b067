#include "cli/topo_score.h"

#include <CLI/CLI.hpp>

#include "cli/plan_options.h"
#include "cli/print.h"
#include "cli/topo_job.h"
#include "cli/values.h"
#include "placement/groups.h"
#include "placement/score.h"

namespace toprun::cli {
namespace {

struct ScoreOptions {
  JobOptions job;
  PlanOptions plan;
  bool json = false;
};

// What the orders mean to parallel groups, below the table or inside the object.
struct GroupParts {
  std::string text;
  std::string json;
  std::vector<std::string> warnings;
};

Result<GroupParts> group_parts(const PlanOptions& options, const Job& job) {
  const auto plan = parse_plan(options);
  if (!plan) return std::unexpected(plan.error());
  if (!plan->has_value()) return GroupParts{};
  auto table = placement::tabulate_groups(job.hosts, job.map, **plan);
  if (!table) return std::unexpected(table.error());
  return GroupParts{placement::groups_text(*table), placement::groups_json(*table),
                    std::move(table->warnings)};
}

Result<int> print_score(const ScoreOptions& options, const Environment& environment) {
  const auto job = find_job(options.job, environment);
  if (!job) return std::unexpected(job.error());
  const auto score = placement::score(job->hosts, job->map);
  if (!score) return std::unexpected(score.error());
  const auto groups = group_parts(options.plan, *job);
  if (!groups) return std::unexpected(groups.error());
  if (options.json) return print(placement::score_json(*score, groups->json));
  const int code = print(placement::score_text(*score) + groups->text);
  say_what_is_unknown(score->source, groups->text.empty() ? score->warnings : groups->warnings);
  return code;
}

}  // namespace

int run_topo_score(const std::vector<std::string>& arguments, const Environment& environment) {
  ScoreOptions options;
  CLI::App app("What the order of the nodes costs: as given, by name, torchrun's and toprun's own.",
               "toprun topo score");
  add_job_options(app, options.job);
  app.add_option("--nproc-per-node,--nproc_per_node", options.job.nproc_per_node,
                 "processes per node, 1 unless given")
      ->check(CLI::Range(1, max_processes_per_node));
  add_plan_options(app, options.plan);
  app.add_flag("--json", options.json, "one JSON object, toprun.topo_score/1");
  app.footer("Example: toprun topo score --topology racks.txt --hosts 'n[0-7]'");
  if (const auto code = parse(app, arguments)) return *code;
  const auto printed = print_score(options, environment);
  return printed ? *printed : give_up(printed.error());
}

}  // namespace toprun::cli
