#include "cli/jobs.h"

#include <unistd.h>

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "base/console.h"
#include "base/look.h"
#include "base/print.h"
#include "cli/parse.h"
#include "jobs/job_words.h"
#include "jobs/recent.h"

namespace toprun::cli {
namespace {

constexpr std::size_t most_ended = 20;

struct JobsOptions {
  bool all = false;
  bool recent = false;
  bool json = false;
};

std::string jobs_json(const scheduler::Queue& queue, const std::vector<scheduler::Job>& jobs) {
  nlohmann::json list = nlohmann::json::array();
  for (const scheduler::Job& job : jobs) list.push_back(jobs::job_json(queue, job));
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
  const int code = print(jobs::jobs_table(**queue, *jobs, look_of(STDOUT_FILENO, environment)));
  if (jobs->empty() && !options.all) {
    say("no job of yours waits or runs; --all shows everybody's, toprun status ID one that ended");
  }
  return code;
}

Result<int> print_recent(const JobsOptions& options, const Environment& environment) {
  const auto queue = scheduler::find_queue(environment);
  const auto jobs = jobs::ended_jobs(queue ? queue->get() : nullptr, ::getuid(), most_ended);
  if (!jobs) return std::unexpected(jobs.error());
  if (options.json) {
    nlohmann::json list = nlohmann::json::array();
    for (const jobs::EndedJob& job : *jobs) list.push_back(jobs::recent_json(job));
    const nlohmann::json document = {{"schema", "toprun.recent/1"}, {"jobs", std::move(list)}};
    return print_bytes(document.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) +
                       '\n');
  }
  if (jobs->empty()) {
    say(queue ? "no job of yours has ended that Slurm remembers or that left its files here"
              : "no job left its files here; " + queue.error().line());
    return 0;
  }
  return print(jobs::recent_table(*jobs, look_of(STDOUT_FILENO, environment)));
}

}  // namespace

int run_jobs(const std::vector<std::string>& arguments, const Environment& environment) {
  JobsOptions options;
  CLI::App app("The jobs that wait and run, your own, and why they wait.", "toprun jobs");
  app.add_flag("-a,--all", options.all, "everybody's jobs");
  app.add_flag("-r,--recent", options.recent,
               fmt::format("the last {} of yours that have ended, and what ended them: those that "
                           "the engine remembers or that left files in this folder",
                           most_ended));
  app.add_flag("--json", options.json, "one JSON object: toprun.jobs/1, toprun.recent/1");
  app.footer(
      "Examples:\n"
      "  toprun jobs --all\n"
      "  toprun jobs --recent  # what has ended, and why");
  if (const auto code = parse(app, arguments)) return *code;
  if (options.all && options.recent) {
    return give_up(
        usage("--recent with --all", "what others' jobs said is theirs", "give one of them")
            .error());
  }
  const auto printed =
      options.recent ? print_recent(options, environment) : print_jobs(options, environment);
  return printed ? *printed : give_up(printed.error());
}

}  // namespace toprun::cli
