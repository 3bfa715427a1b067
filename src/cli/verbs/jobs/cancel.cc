#include <unistd.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <map>
#include <span>

#include "base/os/console.h"
#include "base/os/signals.h"
#include "base/text/text.h"
#include "cli/jobs/job_summary.h"
#include "cli/jobs/job_words.h"
#include "cli/jobs/known_job.h"
#include "cli/pods/kept_runs.h"
#include "cli/verbs/run_verbs.h"

namespace toprun::cli {
namespace {

using options::Call;
using options::FlagId;

using engines::Addressee;
using engines::Job;

enum class Left { running, remains };

// The folder of a story, and which of an array's tasks are cancelled; none: all that it is about.
struct StoryPlace {
  std::string folder;
  jobs::TaskNumbers tasks;
};

// A job that can be cancelled, and where its story is kept.
struct Target {
  std::string id;    // as the user gave it
  std::string name;  // "12_3 (job 15)", if the id is the engine's number of a task
  // The ids for the engine's commands, a list for each command: "12_[0-1]" if only these tasks can
  // get the signal.
  std::vector<std::string> commands;
  std::string waiting = {};  // "2 tasks of job 12 wait and get no signal"; empty: none waits
  Left left = Left::running;
  std::vector<StoryPlace> stories = {};
};

// Of a task that has no folder of its own yet, its array's.
std::vector<StoryPlace> story_places(const engines::Queue& queue, const std::vector<Job>& jobs,
                                     const engines::JobId& id) {
  std::vector<StoryPlace> places;
  for (const Job& job : jobs) {
    if (has_ended(job.state)) continue;
    const auto files = jobs::files_of(queue, job);
    if (!files) continue;
    const std::filesystem::path folder = files->folder;
    if (job.array.empty() || jobs::is_there(folder)) {
      places.push_back({folder.string(), {}});
    } else {
      places.push_back({(folder.parent_path() / job.array).string(), jobs::tasks_meant(job, id)});
    }
  }
  return places;
}

// Slurm numbers each task of an array as a job too, and one of them as the array.
std::string target_name(const std::vector<Job>& jobs, const engines::JobId& id) {
  const bool is_number = jobs.size() == 1 && jobs.front().number == id.text;
  const bool is_of_task = is_number && !jobs.front().array.empty();
  return is_of_task && jobs.front().array != id.text
             ? fmt::format("{} (job {})", printable(jobs.front().id), id.text)
             : id.text;
}

bool may_get_signal(const Job& job) {
  return !has_ended(job.state) && job.state != engines::JobState::pending;
}

// scancel has 10 threads, and each is busy with one task until scancel ends.
constexpr std::size_t tasks_at_once = 10;

// The tasks that a command sends the signal to, a list of ids for each command.
std::vector<std::string> in_parts(const std::string& array, const jobs::TaskNumbers& tasks) {
  std::vector<std::string> parts;
  for (auto rest = std::span(tasks); !rest.empty();) {
    const auto some = rest.first(std::min(tasks_at_once, rest.size()));
    parts.push_back(jobs::id_of_tasks(array, {some.begin(), some.end()}));
    rest = rest.subspan(some.size());
  }
  return parts;
}

// The tasks that run: scancel would repeat the signal until the others run as well, and then fail.
void leave_out_waiting(const std::vector<Job>& jobs, const engines::JobId& id, Target& target) {
  jobs::TaskNumbers running, waiting;
  bool any_waits = false;
  for (const Job& job : jobs) {
    if (job.array.empty() || has_ended(job.state)) continue;
    const bool runs = may_get_signal(job);
    any_waits = any_waits || !runs;
    jobs::TaskNumbers& kind = runs ? running : waiting;
    kind = jobs::all_tasks(kind, jobs::tasks_meant(job, id));
  }
  const std::string& array = jobs.front().array;
  if (running.empty() || (!any_waits && id.text == array)) return;
  target.commands = in_parts(array, running);
  if (!any_waits) return;
  target.name = jobs::id_of_tasks(array, running);
  target.waiting = fmt::format("{} of job {} {} no signal",
                               waiting.empty() ? "some tasks" : counted(waiting.size(), "task"),
                               array, waiting.size() == 1 ? "waits and gets" : "wait and get");
}

// How a job ended, and when, unless that is the time that the words have.
std::string end_words(const engines::Queue& queue, const Job& job) {
  std::string words = jobs::summary_of(jobs::known_job(queue, job)).words;
  const bool is_said = job.ended && words.contains(moment_text(*job.ended, *job.ended));
  if (job.ended && !is_said) words += fmt::format("; it ended at {}", time_text(*job.ended));
  return words;
}

// scancel says nothing about a job that it does not know or that has ended, so the engine is asked
// first. What an engine keeps of a job that has ended may be cancelled as well.
Result<Target> check(const engines::Queue& queue, const std::string& text,
                     const std::string& signal) {
  const auto id = engines::parse_job_id(text);
  auto jobs = jobs::jobs_of(queue, text);
  if (!jobs) {
    const auto forgotten = jobs::forgotten_jobs(queue, text);
    if (forgotten.empty()) return std::unexpected(jobs.error());
    return fail(fmt::format(
        "nothing to {}: {}", signal.empty() ? "cancel" : "signal",
        forgotten.size() > 1
            ? fmt::format("{} has forgotten the tasks of job {}", queue.engine_in_words(), text)
            : jobs::forgotten_text(forgotten.back(), &queue)));
  }
  const auto is_over = [](const Job& job) { return has_ended(job.state); };
  if (!std::ranges::all_of(*jobs, is_over)) {
    // scancel would repeat the signal until the job runs.
    if (!signal.empty() && !std::ranges::any_of(*jobs, may_get_signal)) {
      return fail(fmt::format("job {} waits", text), "only a running job can get a signal");
    }
    Target target{.id = text,
                  .name = target_name(*jobs, *id),
                  .commands = {text},
                  .stories = story_places(queue, *jobs, *id)};
    if (!signal.empty()) {
      leave_out_waiting(*jobs, *id, target);
      std::erase_if(*jobs, [](const Job& job) { return !may_get_signal(job); });
      target.stories = story_places(queue, *jobs, *id);
    }
    return target;
  }
  if (queue.keeps_what_has_ended() && signal.empty()) {
    return Target{.id = text, .name = text, .commands = {text}, .left = Left::remains};
  }
  if (jobs->size() > 1 && !jobs->front().array.empty()) {
    return fail(fmt::format("job {} has already ended", text), "none of its tasks runs or waits");
  }
  const Job& last = jobs->back();
  return fail(fmt::format("job {} has already ended", text), end_words(queue, last));
}

// The job's owner, or that it already ends, if that may be why the engine refused.
std::string hindrance_of(const engines::Queue& queue, const std::string& text) {
  const auto id = engines::parse_job_id(text);
  const auto jobs = id ? queue.find(*id) : Result<std::vector<Job>>();
  if (!jobs || jobs->empty()) return {};
  if (jobs->front().uid != ::getuid()) {
    return fmt::format("job {} belongs to {}", text, printable(jobs->front().user));
  }
  const bool is_ending = std::ranges::all_of(*jobs, [](const Job& job) {
    return job.state == engines::JobState::completing || has_ended(job.state);
  });
  return is_ending ? fmt::format("job {} is already ending", text) : std::string();
}

std::unexpected<Error> refused(const engines::Queue& queue, const std::vector<std::string>& ids,
                               const Error& error) {
  std::vector<std::string> others;
  for (const std::string& id : ids) {
    if (std::string one = hindrance_of(queue, id); !one.empty()) others.push_back(std::move(one));
  }
  if (others.empty()) return std::unexpected(error);
  return fail(join(others, ", "), error->why, error->fix);
}

// Signals that toprun itself passes on to its ranks: notices only to ranks that handle them.
bool passes_on(std::string_view signal) {
  constexpr std::array signals = {"TERM", "INT", "HUP", "QUIT", "USR1", "USR2"};
  return std::ranges::find(signals, signal) != signals.end();
}

// Signals that are usually to end a job. Others may come often, and would fill its story.
bool ends_jobs(std::string_view signal) {
  constexpr std::array signals = {"TERM", "INT", "HUP", "QUIT", "KILL", "ABRT"};
  return std::ranges::find(signals, signal) != signals.end();
}

std::map<Addressee, std::vector<std::string>> by_addressee(const engines::Queue& queue,
                                                           const std::vector<std::string>& ids,
                                                           const std::string& signal) {
  std::map<Addressee, std::vector<std::string>> out;
  for (const std::string& id : ids) {
    const auto parsed = engines::parse_job_id(id);
    const bool to_toprun = passes_on(signal) && parsed && queue.is_run_by_toprun(*parsed);
    out[to_toprun ? Addressee::batch_script : Addressee::processes].push_back(id);
  }
  return out;
}

std::string done_text(const std::vector<Target>& targets, const std::vector<std::string>& ids,
                      const std::string& signal) {
  std::vector<std::string> running, remains, waiting;
  for (const Target& target : targets) {
    if (std::ranges::find(ids, target.id) == ids.end()) continue;
    (target.left == Left::remains ? remains : running).push_back(target.name);
    if (!target.waiting.empty()) waiting.push_back("; " + target.waiting);
  }
  if (!signal.empty()) {
    return fmt::format("sent {} to {}{}", signal, join(running, ", "), join(waiting, ""));
  }
  std::vector<std::string> parts;
  if (!running.empty()) parts.push_back("asked these jobs to end: " + join(running, ", "));
  if (!remains.empty()) {
    parts.push_back(fmt::format(
        "deleted the pods and the output of jobs that had already ended: {}", join(remains, ", ")));
  }
  return join(parts, "; ");
}

// The ids for each command of the engine. A signal to tasks of an array takes commands of its own.
std::vector<std::vector<std::string>> ids_of_commands(const std::vector<Target>& targets,
                                                      const std::vector<std::string>& ids) {
  std::vector<std::vector<std::string>> all(1);
  for (const Target& target : targets) {
    if (std::ranges::find(ids, target.id) == ids.end()) continue;
    if (target.commands.size() == 1 && target.waiting.empty()) {
      all.front().push_back(target.commands.front());
      continue;
    }
    for (const std::string& one : target.commands) all.push_back({one});
  }
  if (all.front().empty()) all.erase(all.begin());
  return all;
}

// Slurm would not tell which user did it, or sent this signal. A job without a folder of toprun's
// has no story.
void keep_story(const std::vector<Target>& targets, const std::vector<std::string>& ids,
                const jobs::JobStory::Act& act, const std::string& signal) {
  for (const Target& target : targets) {
    if (std::ranges::find(ids, target.id) == ids.end()) continue;
    for (const StoryPlace& place : target.stories) {
      if (!jobs::is_there(place.folder)) continue;
      const std::string line = signal.empty() ? jobs::cancel_line(act, place.tasks)
                                              : jobs::signal_line({act, signal}, place.tasks);
      const auto kept = jobs::add_to_story(place.folder, line);
      if (!kept) say(kept.error().line());
    }
  }
}

Result<int> cancel_in(const engines::Queue& queue, const Call& call,
                      const std::vector<std::string>& requested, const std::string& signal) {
  std::vector<Target> targets;
  std::vector<std::string> good;
  int code = 0;
  for (const std::string& id : requested) {
    auto checked = check(queue, id, signal);
    if (!checked) {
      code = give_up(checked.error());
      continue;
    }
    good.push_back(id);
    targets.push_back(*std::move(checked));
  }
  if (good.empty()) return code;
  for (const auto& [addressee, ids] : by_addressee(queue, good, signal)) {
    const jobs::JobStory::Act act{jobs::own_name(call.environment),
                                  std::chrono::system_clock::now()};
    for (const auto& words : ids_of_commands(targets, ids)) {
      const auto command = TRY(queue.cancel_command(words, signal, addressee));
      if (call.has(FlagId::dry_run)) {
        const int printed = print_bytes(shell_quote(command) + '\n');
        if (printed != 0) return printed;
        continue;
      }
      const auto done = queue.execute(command);
      if (!done) return refused(queue, ids, done.error());
    }
    if (call.has(FlagId::dry_run)) continue;
    if (signal.empty() || ends_jobs(signal)) keep_story(targets, ids, act, signal);
    say(done_text(targets, ids, signal));
  }
  return code;
}

Result<int> signal_run(const pods::RunId& id, const Call& call, const std::string& signal) {
  if (call.has(FlagId::dry_run)) {
    return usage("--dry-run",
                 "for a run in pods there is no command to print, because toprun itself sends the "
                 "signal to the run's first pod",
                 "leave --dry-run out");
  }
  return pods::signal_run(id, signal.empty() ? "TERM" : signal, call.environment);
}

// Jobs with numbers and jobs with names are of different engines.
Result<int> cancel(const Call& call, const std::string& signal) {
  std::map<bool, std::vector<std::string>> by_engine;
  for (const std::string& word : call.split.arguments) {
    const std::string id = jobs::id_at(word, call.environment);
    if (id == word && jobs::files_at(word)) return std::unexpected(jobs::job_id_in(word).error());
    if (const auto run = pods::parse_run_id(id)) {
      const auto sent = *run ? signal_run(**run, call, signal) : std::unexpected(run->error());
      if (!sent) return sent;
      continue;
    }
    const auto parsed = engines::parse_job_id(id);
    by_engine[parsed && parsed->number.empty()].push_back(id);
  }
  int code = 0;
  for (const auto& [named, ids] : by_engine) {
    const auto queue = TRY(named ? jobs::queue_of(ids.front(), call.environment)
                                 : engines::find_queue(call.environment));
    const auto done = TRY(cancel_in(*queue, call, ids, signal));
    code = std::max(code, done);
  }
  return code;
}

// "usr1", "SIGUSR1" and "10" are one signal, which scancel takes without "SIG".
Result<std::string> signal_of(const std::string& text) {
  for (int number = 1; number < 32; ++number) {
    std::string name = signal_name(number);
    if (name.starts_with("SIG")) name = name.substr(3);
    const std::string argument = lower(text);
    if (argument == lower(name) || argument == "sig" + lower(name) ||
        text == fmt::to_string(number)) {
      return name;
    }
  }
  return usage("--signal " + text, "no such signal", "give a name (TERM, USR1 …) or a number");
}

}  // namespace

Result<int> run_cancel(const options::Call& call) {
  const std::string argument = call.text(FlagId::signal).value_or("");
  const auto signal = argument.empty() ? Result<std::string>() : signal_of(argument);
  return signal ? cancel(call, *signal) : std::unexpected(signal.error());
}

}  // namespace toprun::cli
