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

// The folder of a story, and which of an array's tasks the verb is for; none: the whole job.
struct StoryPlace {
  std::string folder;
  jobs::TaskNumbers tasks;
  bool is_of_task = false;  // the folder is the task's own, so that its lines need no numbers
};

// A job that can be cancelled, and where its story is kept.
struct Target {
  std::string id;    // as the user gave it
  std::string name;  // "12_3 (job 15)", if the id is the engine's number of a task
  // The tasks of an array that get the signal; empty: the engine gets `id`.
  std::string array = {};
  jobs::TaskNumbers tasks = {};
  std::string waiting = {};  // "2 tasks of job 12 wait and get no signal"; empty: none waits
  Left left = Left::running;
  std::vector<StoryPlace> stories = {};
  Addressee addressee = Addressee::processes;
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
      places.push_back(
          {folder.string(), jobs::parse_tasks(job.task).value_or(jobs::TaskNumbers()), true});
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

// The tasks that run: scancel would repeat the signal until the others run as well, and then fail.
void leave_out_waiting(const std::vector<Job>& jobs, const engines::JobId& id, Target& target) {
  jobs::TaskNumbers running, waiting;
  bool any_waits = false, all_are_known = true;
  for (const Job& job : jobs) {
    if (job.array.empty() || has_ended(job.state)) continue;
    if (may_get_signal(job)) {
      running = jobs::all_tasks(running, jobs::tasks_meant(job, id));
      continue;
    }
    any_waits = true;
    if (jobs::parse_tasks(job.task)) {
      waiting = jobs::all_tasks(waiting, jobs::tasks_meant(job, id));
    } else {
      all_are_known = false;  // Slurm has shortened the list
    }
  }
  const std::string& array = jobs.front().array;
  if (running.empty() || (!any_waits && id.text == array)) return;
  target.array = array;
  target.tasks = running;
  const auto requested = jobs::parse_tasks(id.task);
  if (!any_waits || (requested && jobs::tasks_without(*requested, running).empty())) return;
  target.name = jobs::id_of_tasks(array, running);
  if (!all_are_known && requested) return;  // the shortened list may be of other tasks
  const bool is_one = all_are_known && waiting.size() == 1;
  target.waiting = fmt::format("{} of job {} {} no signal",
                               all_are_known ? counted(waiting.size(), "task") : "some tasks",
                               array, is_one ? "waits and gets" : "wait and get");
}

// How a job ended, and when, unless that is the time that the words have.
std::string end_words(const engines::Queue& queue, const Job& job) {
  std::string words = jobs::summary_of(jobs::known_job(queue, job)).words;
  const bool is_said = job.ended && words.contains(moment_text(*job.ended, *job.ended));
  if (job.ended && !is_said) words += fmt::format("; it ended at {}", time_text(*job.ended));
  return words;
}

// Signals that toprun itself passes on to its ranks: notices only to ranks that handle them.
bool passes_on(std::string_view signal) {
  constexpr std::array signals = {"TERM", "INT", "HUP", "QUIT", "USR1", "USR2"};
  return std::ranges::find(signals, signal) != signals.end();
}

// Of a job that only its files still tell of; `of_tasks`: what to say of several tasks.
std::unexpected<Error> nothing_to_do(const std::string& signal,
                                     const std::vector<jobs::KnownJob>& forgotten,
                                     const engines::Queue* queue, const std::string& of_tasks) {
  return fail(fmt::format(
      "nothing to {}: {}", signal.empty() ? "cancel" : "signal",
      forgotten.size() == 1 ? jobs::forgotten_text(forgotten.front(), queue) : of_tasks));
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
    return nothing_to_do(
        signal, forgotten, &queue,
        fmt::format("{} has forgotten the tasks of job {}", queue.engine_in_words(), text));
  }
  const auto is_over = [](const Job& job) { return has_ended(job.state); };
  if (!std::ranges::all_of(*jobs, is_over)) {
    // scancel would repeat the signal until the job runs.
    if (!signal.empty() && !std::ranges::any_of(*jobs, may_get_signal)) {
      return fail(fmt::format("job {} waits", text), "only a running job can get a signal");
    }
    Target target{
        .id = text, .name = target_name(*jobs, *id), .stories = story_places(queue, *jobs, *id)};
    if (!signal.empty()) {
      if (passes_on(signal) && queue.is_run_by_toprun(*id)) {
        target.addressee = Addressee::batch_script;
      }
      leave_out_waiting(*jobs, *id, target);
      std::erase_if(*jobs, [](const Job& job) { return !may_get_signal(job); });
      target.stories = story_places(queue, *jobs, *id);
    }
    return target;
  }
  if (queue.keeps_what_has_ended() && signal.empty()) {
    return Target{.id = text, .name = text, .left = Left::remains};
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

// Signals that are usually to end a job. Others may come often, and would fill its story.
bool ends_jobs(std::string_view signal) {
  constexpr std::array signals = {"TERM", "INT", "HUP", "QUIT", "KILL", "ABRT"};
  return std::ranges::find(signals, signal) != signals.end();
}

std::string done_text(const std::vector<Target>& targets, const std::string& signal) {
  std::vector<std::string> running, remains, waiting;
  for (const Target& target : targets) {
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

// What one command of the engine is for.
struct Part {
  std::vector<std::string> ids;  // as the engine gets them
  std::string array = {};        // with `tasks`; empty: whole targets
  jobs::TaskNumbers tasks = {};
};

// scancel has 10 threads, and each is busy with one task until scancel ends.
constexpr std::size_t tasks_at_once = 10;

// Whole jobs share one command. The tasks of an array take commands of their own, however they were
// given: "12_0 12_1" as "12_[0-1]".
std::vector<Part> parts_of(const std::vector<Target>& targets) {
  std::vector<Part> wholes;
  for (const Target& target : targets) {
    auto part = std::ranges::find(wholes, target.array, &Part::array);
    if (part == wholes.end()) part = wholes.insert(part, Part{{}, target.array, {}});
    if (target.array.empty()) part->ids.push_back(target.id);
    part->tasks = jobs::all_tasks(part->tasks, target.tasks);
  }
  std::vector<Part> parts;
  for (const Part& whole : wholes) {
    if (whole.array.empty()) parts.push_back(whole);
    for (auto rest = std::span(whole.tasks); !rest.empty();) {
      const auto some = rest.first(std::min(tasks_at_once, rest.size()));
      const jobs::TaskNumbers tasks(some.begin(), some.end());
      parts.push_back({{jobs::id_of_tasks(whole.array, tasks)}, whole.array, tasks});
      rest = rest.subspan(some.size());
    }
  }
  return parts;
}

// `gone`: ids of tasks that had already ended.
Part without_gone(Part part, const std::vector<std::string>& gone) {
  for (const std::string& text : gone) {
    const auto id = engines::parse_job_id(text);
    if (!id || id->number != part.array) continue;
    const auto tasks = jobs::parse_tasks(id->task);
    part.tasks = jobs::tasks_without(part.tasks, tasks.value_or(jobs::TaskNumbers()));
  }
  return part;
}

// The targets that these parts reached, with only the tasks that were reached.
std::vector<Target> reached_by(const std::vector<Part>& done, const std::vector<Target>& targets) {
  std::vector<Target> reached;
  for (Target target : targets) {
    jobs::TaskNumbers tasks;
    bool is_reached = false;
    for (const Part& part : done) {
      if (part.array != target.array) continue;
      tasks = jobs::all_tasks(tasks, jobs::common_tasks(part.tasks, target.tasks));
      is_reached = is_reached || target.array.empty() || !tasks.empty();
    }
    if (!is_reached) continue;
    if (tasks != target.tasks) target.name = jobs::id_of_tasks(target.array, tasks);
    target.tasks = std::move(tasks);
    reached.push_back(std::move(target));
  }
  return reached;
}

// Slurm would not tell which user did it, or sent this signal. A job without a folder of toprun's
// has no story.
void keep_story(const std::vector<Target>& targets, const jobs::JobStory::Act& act,
                const std::string& signal) {
  for (const Target& target : targets) {
    for (const StoryPlace& place : target.stories) {
      const bool is_whole = target.array.empty() || place.tasks.empty();
      auto tasks = is_whole ? place.tasks : jobs::common_tasks(place.tasks, target.tasks);
      if ((!is_whole && tasks.empty()) || !jobs::is_there(place.folder)) continue;
      if (place.is_of_task) tasks.clear();
      const std::string line =
          signal.empty() ? jobs::cancel_line(act, tasks) : jobs::signal_line({act, signal}, tasks);
      const auto kept = jobs::add_to_story(place.folder, line);
      if (!kept) say(kept.error().line());
    }
  }
}

// A part that fails does not keep the others from their command. Returns the worst exit code.
Result<int> send(const engines::Queue& queue, const Call& call, const std::vector<Target>& targets,
                 const std::string& signal) {
  const std::vector<Part> parts = parts_of(targets);
  std::size_t all_tasks = 0, tasks_done = 0;
  for (const Part& part : parts) all_tasks += part.tasks.size();
  std::vector<Part> done;
  int code = 0;
  for (const Part& part : parts) {
    const auto command = TRY(queue.cancel_command(part.ids, signal, targets.front().addressee));
    if (call.has(FlagId::dry_run)) {
      const int printed = print_bytes(shell_quote(command) + '\n');
      if (printed != 0) return printed;
      continue;
    }
    const jobs::JobStory::Act act{jobs::own_name(call.environment),
                                  std::chrono::system_clock::now()};
    const auto gone = queue.execute(command);
    if (!gone) {
      code = std::max(code, give_up(refused(queue, part.ids, gone.error()).error()));
      continue;
    }
    done.push_back(without_gone(part, *gone));
    if (signal.empty() || ends_jobs(signal)) {
      keep_story(reached_by({done.back()}, targets), act, signal);
    }
    tasks_done += done.back().tasks.size();
    if (!part.tasks.empty() && &part != &parts.back()) {
      say(fmt::format("sent {} to {} of {} tasks", signal, tasks_done, all_tasks));
    }
  }
  const auto reached = reached_by(done, targets);
  if (!reached.empty()) say(done_text(reached, signal));
  return code;
}

Result<int> cancel_in(const engines::Queue& queue, const Call& call,
                      const std::vector<std::string>& requested, const std::string& signal) {
  std::vector<Target> targets;
  int code = 0;
  for (const std::string& id : requested) {
    auto checked = check(queue, id, signal);
    if (checked) {
      targets.push_back(*std::move(checked));
    } else {
      code = std::max(code, give_up(checked.error()));
    }
  }
  for (const Addressee addressee : {Addressee::processes, Addressee::batch_script}) {
    std::vector<Target> some = targets;
    std::erase_if(some, [&](const Target& target) { return target.addressee != addressee; });
    if (!some.empty()) code = std::max(code, TRY(send(queue, call, some, signal)));
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

Result<int> cancel_named(const Call& call, const std::vector<std::string>& ids, bool have_names,
                         const std::string& signal) {
  const auto queue = TRY(have_names ? jobs::queue_of(ids.front(), call.environment)
                                    : engines::find_queue(call.environment));
  return cancel_in(*queue, call, ids, signal);
}

// Jobs with numbers and jobs with names are of different engines. What fails keeps no other job
// from its end. Returns the worst exit code.
int cancel(const Call& call, const std::string& signal) {
  std::map<bool, std::vector<std::string>> by_engine;
  int code = 0;
  const auto take = [&](const Result<int>& done) {
    code = std::max(code, done ? *done : give_up(done.error()));
  };
  for (const std::string& word : call.split.arguments) {
    const auto job = jobs::job_at(word, call.environment);
    const auto id = job && job->is_forgotten
                        ? nothing_to_do(signal, jobs::known_by_files(*job), nullptr,
                                        fmt::format("{}: {}", printable(word), job->why_only_files))
                        : jobs::id_of(word, job);
    if (!id) {
      take(std::unexpected(id.error()));
    } else if (const auto run = pods::run_id_in(*id)) {
      take(*run ? signal_run(**run, call, signal) : std::unexpected(run->error()));
    } else {
      const auto parsed = engines::parse_job_id(*id);
      by_engine[parsed && parsed->number.empty()].push_back(*id);
    }
  }
  for (const auto& [have_names, ids] : by_engine) {
    take(cancel_named(call, ids, have_names, signal));
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
  return signal ? Result<int>(cancel(call, *signal)) : std::unexpected(signal.error());
}

}  // namespace toprun::cli
