#include "cli/jobs.h"

#include <unistd.h>

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "base/console.h"
#include "cli/job_words.h"
#include "cli/print.h"
#include "cli/topo_job.h"

namespace toprun::cli {
namespace {

struct JobsOptions {
  bool all = false;
  bool json = false;
};

std::string jobs_json(const scheduler::Queue& queue, const std::vector<scheduler::Job>& jobs) {
  nlohmann::json list = nlohmann::json::array();
  for (const scheduler::Job& job : jobs) list.push_back(job_json(queue, job));
  const nlohmann::json document = {
      {"schema", "toprun.jobs/1"}, {"engine", queue.engine()}, {"jobs", std::move(list)}};
  return document.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) + '\n';
}

Result<int> print_jobs(const JobsOptions& options, const Environment& environment) {
  const auto queue = scheduler::find_queue(environment);
  if (!queue) return std::unexpected(queue.error());
  const auto jobs =
      (*queue)->jobs(options.all ? std::nullopt : std::optional<std::uint32_t>(::getuid()));
  if (!jobs) return std::unexpected(jobs.error());
  if (options.json) return print_bytes(jobs_json(**queue, *jobs));
  const int code = print(jobs_table(**queue, *jobs));
  if (jobs->empty() && !options.all) {
    say("no job of yours waits or runs; --all shows everybody's, toprun status ID one that ended");
  }
  return code;
}

}  // namespace

int run_jobs(const std::vector<std::string>& arguments, const Environment& environment) {
  JobsOptions options;
  CLI::App app("The jobs that wait and run, your own, and why they wait.", "toprun jobs");
  app.add_flag("-a,--all", options.all, "everybody's jobs");
  app.add_flag("--json", options.json, "one JSON object, toprun.jobs/1");
  if (const auto code = parse(app, arguments)) return *code;
  const auto printed = print_jobs(options, environment);
  return printed ? *printed : give_up(printed.error());
}

}  // namespace toprun::cli
