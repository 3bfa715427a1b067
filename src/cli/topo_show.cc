#include "cli/topo_show.h"

#include <CLI/CLI.hpp>

#include "base/print.h"
#include "cli/topo_job.h"
#include "placement/outline.h"

namespace toprun::cli {
namespace {

struct ShowOptions {
  JobOptions job;
  bool all = false;
  bool json = false;
};

Result<int> print_tree(const ShowOptions& options, const Environment& environment) {
  auto job = find_job(options.job, environment);
  if (!job) return std::unexpected(job.error());
  const auto placed = placement::place(job->hosts, std::move(job->map));
  if (!placed) return std::unexpected(placed.error());
  if (options.json) return print_bytes(placement::outline_json(*placed));
  const int code = print(placement::outline_text(*placed, !options.all));
  say_what_is_unknown(placed->source, placed->warnings);
  return code;
}

}  // namespace

int run_topo_show(const std::vector<std::string>& arguments, const Environment& environment) {
  ShowOptions options;
  CLI::App app("The domains of the network, how many nodes each holds, and what is not known.",
               "toprun topo show");
  add_job_options(app, options.job);
  app.add_flag("--all", options.all,
               fmt::format("a line for each domain, also where more than {} are alike",
                           placement::max_siblings));
  app.add_flag("--json", options.json, "one JSON object, toprun.topo_show/1");
  app.footer("Example: toprun topo show --topology racks.txt");
  if (const auto code = parse(app, arguments)) return *code;
  if (const auto code = fill_as_launched(app, environment, job_flags)) return *code;
  const auto printed = print_tree(options, environment);
  return printed ? *printed : give_up(printed.error());
}

}  // namespace toprun::cli
