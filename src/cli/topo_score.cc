#include "cli/topo_score.h"

#include <CLI/CLI.hpp>

#include "cli/print.h"
#include "cli/topo_job.h"
#include "placement/score.h"

namespace toprun::cli {
namespace {

struct ScoreOptions {
  JobOptions job;
  bool json = false;
};

Result<int> print_score(const ScoreOptions& options, const Environment& environment) {
  const auto job = find_job(options.job, environment);
  if (!job) return std::unexpected(job.error());
  const auto score = placement::score(job->hosts, job->map);
  if (!score) return std::unexpected(score.error());
  if (options.json) return print(placement::score_json(*score));
  const int code = print(placement::score_text(*score));
  say_what_is_unknown(score->source, score->warnings);
  return code;
}

}  // namespace

int run_topo_score(const std::vector<std::string>& arguments, const Environment& environment) {
  ScoreOptions options;
  CLI::App app("What the order of the nodes costs: as given, by name, torchrun's and toprun's own.",
               "toprun topo score");
  add_job_options(app, options.job);
  app.add_flag("--json", options.json, "one JSON object, toprun.topo_score/1");
  app.footer("Example: toprun topo score --topology racks.txt --hosts 'n[0-7]'");
  if (const auto code = parse(app, arguments)) return *code;
  const auto printed = print_score(options, environment);
  return printed ? *printed : give_up(printed.error());
}

}  // namespace toprun::cli
