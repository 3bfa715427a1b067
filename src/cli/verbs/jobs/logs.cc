#include <algorithm>
#include <filesystem>
#include <ranges>
#include <utility>

#include "base/os/console.h"
#include "base/os/style.h"
#include "base/text/text.h"
#include "cli/jobs/follow.h"
#include "cli/jobs/job_summary.h"
#include "cli/jobs/job_words.h"
#include "cli/jobs/known_job.h"
#include "cli/jobs/log_tail.h"
#include "cli/pods/kept_runs.h"
#include "cli/pods/running.h"
#include "cli/verbs/run_verbs.h"

namespace toprun::cli {
namespace {

using options::Call;
using options::FlagId;

using engines::Job;

constexpr std::size_t most_failures_reported = 8;  // of an array's tasks

struct LogsOptions {
  std::string id;
  bool follow = false;
  jobs::LogChoice choice;
};

// A job's files and the name of the job in front of their lines, if there are several.
struct Found {
  std::string id;
  std::optional<Job> job;  // unset: only its files are known
  jobs::JobFiles files;
  std::string label;
  bool several_nodes = true;
  std::string why_only_files = {};  // as in jobs::KnownJob
};

void label(std::vector<Found>& all, std::size_t jobs) {
  for (Found& one : all) one.label = jobs > 1 ? one.id : std::string();
}

jobs::KnownJob known_of(const Found& found) {
  jobs::KnownJob known = jobs::forgotten_job({found.id, found.files});
  known.why_only_files = found.why_only_files;
  return known;
}

std::unexpected<Error> nothing_found(const engines::JobId& id, const std::vector<Job>& jobs,
                                     const Result<std::unique_ptr<engines::Queue>>& queue) {
  const std::string looked = jobs::no_files_text(jobs);
  if (!jobs.empty()) {
    return fail(fmt::format("cannot find the output of job {}", id.text),
                "the scheduler no longer knows the output's path, and " + looked,
                "run this in the folder from which you submitted the job");
  }
  const std::string engine = queue ? (*queue)->forgets(id) : queue.error().line();
  return fail(fmt::format("job {} is unknown", id.text), fmt::format("{}; {}", engine, looked),
              jobs::lists_of_jobs);
}

// `queue` changes as in jobs::find_in().
Result<std::vector<Found>> find_files(const engines::JobId& id, jobs::FoundQueue& queue) {
  const auto jobs = TRY(jobs::find_in(queue, id));
  std::vector<Found> found;
  for (const Job& job : jobs) {
    if (const auto files = jobs::files_of(**queue, job)) {
      found.push_back({job.id, job, *files, std::string(),
                       job.nodes > 1 || jobs::node_files(*files).size() > 1});
    }
  }
  const auto left = found.empty() ? jobs::search_files(id.text, jobs::likely_folders(jobs))
                                  : jobs::forgotten_tasks(**queue, id, jobs);
  if (!left.empty()) {
    std::erase_if(found, [](const Found& one) { return is_without_tasks(*one.job); });
  }
  for (const jobs::FoundFiles& job : left) {
    found.push_back(
        {job.id, std::nullopt, job.files, std::string(), jobs::has_several_nodes(job.files)});
  }
  if (found.empty()) return nothing_found(id, jobs, queue);
  std::ranges::stable_sort(found, natural_less, &Found::id);
  label(found, std::max(found.size(), jobs.size()));
  return found;
}

std::string prefix_of(const jobs::LogFile& file, const Found& found,
                      const jobs::LogChoice& choice) {
  std::string prefix = found.label;
  if (!file.label.empty() && found.several_nodes && choice.takes_all()) {
    prefix += (prefix.empty() ? "" : " ") + file.label;
  }
  return prefix.empty() ? prefix : prefix + ": ";
}

// Shows one file to its end; of the engine's file only lines that are in no host's file.
int show(const jobs::LogFile& file, const std::string& prefix, bool mixed,
         jobs::Remainder* remainder, std::optional<std::size_t> last_lines) {
  jobs::LogTail::LineFilter filter;
  if (remainder != nullptr) {
    filter = file.label.empty() ? remainder->engine_lines(prefix) : remainder->host_lines();
  }
  jobs::LogTail tail(file.path, prefix, mixed, std::move(filter));
  jobs::LastLines last(last_lines);
  const auto show_all = [&](std::string text) {
    if (remainder != nullptr) text += remainder->take(SteadyTime::max());
    return print_bytes(last.add(std::move(text)));
  };
  std::string text;
  while (tail.read_new(text)) {
    if (const int code = show_all(text); code != 0) return code;
  }
  if (const int code = show_all(tail.rest()); code != 0) return code;
  return print_bytes(last.take());
}

std::vector<jobs::LogFile> in_order(std::vector<jobs::LogFile> files, const Found& found,
                                    const jobs::LogChoice& choice) {
  if (files.size() < 2 || !choice.takes_all()) return files;
  const auto report = jobs::read_report(found.files.report());
  if (!report || !*report) return files;
  return jobs::with_root_last(std::move(files), (*report)->run.root_host.raw());
}

// The folder attempt_N of a rank's file.
std::string folder_of_attempt(const jobs::LogFile& file) {
  return std::filesystem::path(file.path).parent_path().parent_path().filename().string();
}

// Names the attempt of the file and its start: "attempt 1, 21:02:10:".
void say_attempt(const jobs::LogFile& file, const jobs::JobFiles& files) {
  const std::string folder = folder_of_attempt(file);
  std::string text = folder;
  std::ranges::replace(text, '_', ' ');
  const auto report = jobs::read_report(files.report());
  if (report && *report) {
    for (const model::AttemptRecord& attempt : (*report)->run.attempts) {
      if (folder != fmt::format("attempt_{}", attempt.attempt)) continue;
      const auto started = model::if_known(attempt.started);
      if (started) text += ", " + time_text(*started);
    }
  }
  say(text + ":");
}

Result<std::size_t> show_all(const std::vector<Found>& all, const LogsOptions& options) {
  std::vector<jobs::JobFiles> jobs;
  for (const Found& found : all) jobs.push_back(found.files);
  auto chosen = TRY(jobs::log_files(jobs, options.choice));
  std::size_t shown = 0;
  for (std::size_t i = 0; i < all.size(); ++i) {
    const Found& found = all[i];
    const auto files = in_order(std::move(chosen[i]), found, options.choice);
    const bool mixed = files.size() > 1 || all.size() > 1;
    jobs::Remainder remainder;
    const bool has_several = options.choice.rank && !files.empty() &&
                             folder_of_attempt(files.front()) != folder_of_attempt(files.back());
    std::string attempt;
    for (const jobs::LogFile& file : files) {
      const std::string folder = folder_of_attempt(file);
      if (has_several && std::exchange(attempt, folder) != folder) say_attempt(file, found.files);
      const std::string prefix = prefix_of(file, found, options.choice);
      const bool each_once = mixed && options.choice.takes_all();
      const int code =
          show(file, prefix, mixed, each_once ? &remainder : nullptr, options.choice.last_lines);
      if (code != 0) {
        return fail("the rest of the job's output is not shown");
      }
      ++shown;
    }
  }
  return shown;
}

// Whether the chosen files may still come: no job has begun, or toprun has not begun in any job of
// `toprun submit`.
bool is_too_early(const std::vector<Found>& all, const jobs::LogChoice& choice) {
  return !choice.takes_all() && std::ranges::all_of(all, [](const Found& found) {
    if (!found.job || has_ended(found.job->state) || found.job->restarts > 0) return false;
    if (found.job->state == engines::JobState::pending) return true;
    // With a --report of the user's own, the folder never has a report.
    const jobs::JobStory story = jobs::read_story(found.files.folder);
    return story.submitted && story.report.empty() && !jobs::is_there(found.files.report());
  });
}

void say_why_nothing(const LogsOptions& options, const engines::JobId& id, jobs::FoundQueue& queue,
                     const jobs::JobFiles& files) {
  const auto known = jobs::find_known(id, queue);
  const std::string file = files.own.empty() ? files.folder : files.own.front();
  if (!known || known->empty()) {
    return say(fmt::format("job {} has printed nothing: there is no {}", options.id, file));
  }
  const jobs::KnownJob& job = known->front();
  const bool may_print = job.job && !has_ended(job.job->state);
  std::string where;
  if (may_print) {
    where = "; its output will be in " + file;
  } else if (jobs::is_there(files.folder)) {
    where = "; its folder is " + files.folder;
  }
  say(fmt::format("job {} has printed nothing{}: {}{}", options.id, may_print ? " yet" : "",
                  jobs::summary_of(job).words, where));
}

// How a job failed, in a line; empty: it did not, or that is not known.
std::string failure_line(const Found& found, const engines::Queue* queue, const Style& style) {
  if (found.job && queue != nullptr) {
    if (!has_ended(found.job->state)) return {};
    const jobs::JobEnding ending = jobs::ending_of(*queue, *found.job, {});
    return ending.exit_code == 0 ? std::string() : jobs::end_line(found.id, ending, style);
  }
  const jobs::KnownJob known = known_of(found);
  const jobs::JobSummary what = jobs::summary_of(known);
  if (!what.is_over || what.exit_code == 0) return {};
  return coloured("toprun: " + jobs::forgotten_text(known, queue), Colour::bad, style) + '\n';
}

// The last that is seen of failed jobs is what broke, on stderr: the output itself is data. Returns
// whether a job failed.
bool tell_failures(const std::string& id, const std::vector<Found>& all,
                   const engines::Queue* queue, const Style& style) {
  std::vector<std::string> lines;
  for (const Found& found : all) {
    if (auto line = failure_line(found, queue, style); !line.empty()) {
      lines.push_back(std::move(line));
    }
  }
  std::string text;
  for (const std::string& line : lines | std::views::take(most_failures_reported)) text += line;
  if (lines.size() > most_failures_reported) {
    text += fmt::format("toprun: … and {} more have failed: toprun status {} shows all\n",
                        lines.size() - most_failures_reported, jobs::id_word(id));
  }
  if (!text.empty()) say_block(text);
  return !text.empty();
}

void tell_of_rank_files(const LogsOptions& options, const std::vector<Found>& all) {
  const bool has_more =
      options.choice.takes_all() && std::ranges::any_of(all, [](const Found& found) {
        return jobs::has_files_per_rank_alone(found.files);
      });
  if (!has_more) return;
  say(fmt::format(
      "the ranks' own output is in a file per rank (--redirects): toprun logs --rank N {} shows it",
      jobs::id_word(options.id)));
}

// How jobs that only their files still tell of ended, and the highest of their exit codes.
int tell_ends(const std::vector<Found>& all, const engines::Queue* queue) {
  int highest = 0;
  for (const Found& found : all) {
    const jobs::KnownJob known = known_of(found);
    say(jobs::forgotten_text(known, queue));
    highest = std::max(highest, jobs::summary_of(known).exit_code.value_or(exit_failure));
  }
  return highest;
}

// Of a job that its folder names, and that the engine here does not know.
Result<int> show_files(const LogsOptions& options, const jobs::JobAtPath& job,
                       const Environment& environment) {
  std::vector<Found> all;
  for (const jobs::KnownJob& known : jobs::known_by_files(job)) {
    all.push_back({known.id, std::nullopt, *known.files, std::string(),
                   jobs::has_several_nodes(*known.files), job.why_only_files});
  }
  label(all, all.size());
  const auto shown = TRY(show_all(all, options));
  if (shown == 0) {
    say(fmt::format("job {} has printed nothing: there is no output in {}", job.found.id,
                    job.found.files.folder));
  }
  if (options.follow) return tell_ends(all, nullptr);
  tell_of_rank_files(options, all);
  const bool is_told = tell_failures(options.id, all, nullptr, style_of_stderr(environment));
  if (!is_told && !job.is_forgotten) jobs::say_why_only_files(job.why_only_files, "output");
  return 0;
}

Result<int> show_logs(const LogsOptions& options, const engines::JobId& id,
                      const Environment& environment) {
  auto queue = engines::find_queue_of(id, environment);
  const bool has_engine = queue.has_value();
  const auto all = TRY(find_files(id, queue));
  if (has_engine && !queue) jobs::say_why_only_files(queue.error().line(), "output");
  if (is_too_early(all, options.choice)) {
    say_why_nothing(options, id, queue, all.front().files);
    return 0;
  }
  const auto shown = TRY(show_all(all, options));
  if (shown == 0) {
    say_why_nothing(options, id, queue, all.front().files);
    return 0;
  }
  tell_of_rank_files(options, all);
  tell_failures(options.id, all, queue ? queue->get() : nullptr, style_of_stderr(environment));
  return 0;
}

Result<bool> engine_knows(const engines::JobId& id, const Environment& environment) {
  auto queue = engines::find_queue_of(id, environment);
  const auto jobs = TRY(jobs::find_in(queue, id));
  if (!queue && jobs::search_files(id.text, jobs::likely_folders({})).empty()) {
    return std::unexpected(queue.error());
  }
  return !jobs.empty();
}

// Of a job that only its files still tell of, all that there is, and the code of its own report.
Result<int> show_what_is_left(const LogsOptions& options, const engines::JobId& id,
                              const Environment& environment) {
  auto queue = engines::find_queue_of(id, environment);
  const auto all = TRY(find_files(id, queue));
  TRY(show_all(all, options));
  return tell_ends(all, queue ? queue->get() : nullptr);
}

Result<int> follow_or_show(const LogsOptions& options, const engines::JobId& id,
                           const Environment& environment) {
  const auto known = TRY(engine_knows(id, environment));
  return known ? jobs::follow_job(options.id, options.choice, environment)
               : show_what_is_left(options, id, environment);
}

Result<LogsOptions> logs_options_of(const Call& call) {
  LogsOptions options{call.operand(), call.has(FlagId::follow), {}};
  if (const auto argument = call.argument(FlagId::rank)) {
    options.choice.rank = TRY(options::parse_number(*argument, 0, std::numeric_limits<int>::max()));
  }
  options.choice.node = call.text(FlagId::node).value_or("");
  if (const auto argument = call.argument(FlagId::last_lines)) {
    options.choice.last_lines = static_cast<std::size_t>(
        TRY(options::parse_number(*argument, 0, std::numeric_limits<int>::max())));
  }
  return options;
}

Result<void> refuse_last_lines(const LogsOptions& options, std::string why) {
  if (!options.choice.last_lines) return {};
  return usage("--tail", std::move(why),
               fmt::format("use toprun logs {} | tail -n {}", jobs::id_word(options.id),
                           *options.choice.last_lines));
}

// Of a job whose output the engine keeps.
Result<int> show_kept_output(const LogsOptions& options, const Environment& environment) {
  if (!options.choice.takes_all()) {
    return usage("--rank and --node",
                 "Kubernetes and Run:AI keep one output for each pod, not for each rank or node",
                 "leave --rank and --node out");
  }
  TRY(refuse_last_lines(options, "the engine's own program shows the output of pods"));
  const auto keeps = pods::keeps_a_run(options.id, environment);
  if (keeps && *keeps) return pods::show_run({options.id, {}}, options.follow, environment);
  return options.follow ? pods::follow_pods(options.id, {}, environment)
                        : pods::show_pods(options.id, environment);
}

}  // namespace

Result<int> run_logs(const options::Call& call) {
  auto options = TRY(logs_options_of(call));
  if (options.id.empty()) {
    options.id = TRY(jobs::latest_job_here(call.environment));
  }
  if (options.choice.rank && !options.choice.node.empty()) {
    return usage("--rank with --node", "--rank is enough: it chooses the file of one rank",
                 "give only one of them");
  }
  if (const auto job = jobs::job_at(options.id, call.environment)) {
    if (!job->is_known && !job->is_forgotten && options.follow) {
      return usage("--follow",
                   fmt::format("whether job {} goes on is not known: {}", job->found.id,
                               job->why_only_files),
                   "leave --follow out to see the output until now");
    }
    if (!job->is_known) return show_files(options, *job, call.environment);
    options.id = job->found.id;
  }
  if (const auto run = pods::run_id_in(options.id)) {
    TRY(refuse_last_lines(options, "the output of a run in pods is in the pod"));
    return *run ? pods::show_run(**run, options.follow, call.environment)
                : std::unexpected(run->error());
  }
  const auto id = TRY(jobs::job_id_in(options.id, call.environment));
  if (id.number.empty()) return show_kept_output(options, call.environment);
  return options.follow ? follow_or_show(options, id, call.environment)
                        : show_logs(options, id, call.environment);
}

}  // namespace toprun::cli
