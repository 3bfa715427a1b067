#include "cli/logs.h"

#include <filesystem>

#include <CLI/CLI.hpp>

#include "base/console.h"
#include "base/text.h"
#include "cli/follow.h"
#include "cli/job_words.h"
#include "cli/log_tail.h"
#include "cli/print.h"
#include "cli/topo_job.h"

namespace toprun::cli {
namespace {

using scheduler::Job;

struct LogsOptions {
  std::string id;
  bool follow = false;
  LogChoice choice;
};

// Where jobs that the engine has forgotten may have left their files.
std::vector<std::string> likely_folders(const std::vector<Job>& jobs) {
  std::error_code error;
  std::vector<std::string> folders = {std::filesystem::current_path(error).string()};
  for (const Job& job : jobs) {
    if (!job.folder.empty() && job.folder != folders.front()) folders.push_back(job.folder);
  }
  return folders;
}

// A job's files and the name of the job in front of their lines, if there are several.
struct Found {
  JobFiles files;
  std::string label;
  bool several_nodes = true;
};

std::unexpected<Error> nothing_found(const scheduler::JobId& id, const std::vector<Job>& jobs,
                                     const Result<std::unique_ptr<scheduler::Queue>>& queue) {
  const std::string looked = "no files of it were found below " + join(likely_folders(jobs), ", ");
  if (!jobs.empty()) {
    return fail(fmt::format("no output of job {}", id.text),
                "the engine does not say any more where it is, and " + looked,
                "change to the folder that it was submitted from");
  }
  const std::string engine = queue ? (*queue)->forgets(id) : queue.error().line();
  return fail(fmt::format("job {} is unknown", id.text), fmt::format("{}; {}", engine, looked),
              "see toprun jobs, or change to the folder that it was submitted from");
}

Result<std::vector<Found>> find_files(const scheduler::JobId& id, const Environment& environment) {
  const auto queue = scheduler::find_queue(environment);
  std::vector<Job> jobs;
  if (queue) {
    auto told = (*queue)->find(id);
    if (!told) return std::unexpected(told.error());
    jobs = *std::move(told);
  }
  std::vector<Found> found;
  for (const Job& job : jobs) {
    if (const auto files = files_of(**queue, job)) {
      found.push_back({*files, jobs.size() > 1 ? job.id : std::string(), job.nodes > 1});
    }
  }
  if (found.empty()) {
    const auto files = search_files(id.text, likely_folders(jobs));
    if (!files) return nothing_found(id, jobs, queue);
    found.push_back({*files, {}, true});
  }
  return found;
}

// Shows one file to its end.
int show(const LogFile& file, const Found& found, bool mixed) {
  std::string prefix = found.label;
  if (!file.label.empty() && found.several_nodes) {
    prefix += (prefix.empty() ? "" : " ") + file.label;
  }
  LogTail tail(file.path, prefix.empty() ? prefix : prefix + ": ", mixed);
  for (std::string text = tail.read_new(); !text.empty(); text = tail.read_new()) {
    if (const int code = print(text); code != 0) return code;
  }
  return print(tail.rest());
}

Result<int> show_logs(const LogsOptions& options, const Environment& environment) {
  const auto id = scheduler::parse_job_id(options.id);
  if (!id) return std::unexpected(id.error());
  const auto all = find_files(*id, environment);
  if (!all) return std::unexpected(all.error());
  std::size_t shown = 0;
  for (const Found& found : *all) {
    const auto files = log_files(found.files, options.choice);
    if (!files) return std::unexpected(files.error());
    const bool one_place = options.choice.rank || !options.choice.node.empty();
    for (LogFile file : *files) {
      if (one_place) file.label.clear();
      if (const int code = show(file, found, files->size() > 1 || all->size() > 1); code != 0) {
        return code;
      }
      ++shown;
    }
  }
  if (shown == 0) {
    say(fmt::format(
        "job {} has printed nothing yet: there is no {}; toprun status {} tells why", options.id,
        all->front().files.own.empty() ? all->front().files.folder : all->front().files.own.front(),
        options.id));
  }
  return 0;
}

}  // namespace

int run_logs(const std::vector<std::string>& arguments, const Environment& environment) {
  LogsOptions options;
  CLI::App app("What a job has printed: the engine's file, then each host's.", "toprun logs");
  app.add_option("ID", options.id, "as `toprun jobs` shows it: 17, or 12_3 for an array's task")
      ->required();
  app.add_flag("-f,--follow", options.follow,
               "show more as it comes, until the job ends; the exit code is the job's");
  app.add_option("--rank", options.choice.rank,
                 "only this rank's own files (--redirects or --tee keep them)")
      ->check(CLI::NonNegativeNumber);
  app.add_option("--node", options.choice.node, "only this host's output");
  app.footer("Lines of several hosts begin with the host's name. Example: toprun logs -f 17");
  if (const auto code = parse(app, arguments)) return *code;
  if (options.choice.rank && !options.choice.node.empty()) {
    return give_up(
        usage("--rank with --node", "a rank is on one node", "give one of them").error());
  }
  if (options.follow) return follow_job(options.id, options.choice, environment);
  const auto shown = show_logs(options, environment);
  return shown ? *shown : give_up(shown.error());
}

}  // namespace toprun::cli
