#include "cli/verbs/jobs/running_jobs.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <limits>
#include <utility>

#include <nlohmann/json.hpp>

#include "base/json/json_text.h"
#include "base/net/address.h"
#include "base/process/command.h"
#include "base/process/process_tree.h"
#include "base/text/clock.h"
#include "base/text/text.h"
#include "cli/jobs/job_report.h"
#include "cli/jobs/job_story.h"
#include "cli/jobs/job_summary.h"
#include "cli/jobs/job_words.h"
#include "cli/jobs/known_job.h"
#include "cli/jobs/waiting.h"
#include "engines/login/login.h"
#include "engines/slurm/variables.h"
#include "observe/live/client.h"

namespace toprun::cli {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

using engines::Job;
using engines::JobState;

constexpr std::size_t most_tasks_named = 8;
constexpr std::string_view no_task_runs = "none of its tasks runs";
constexpr std::chrono::seconds root_listens_by{30};  // after its job's start
constexpr std::chrono::seconds name_limit{3};        // for a job to say its name

std::vector<RunningJob> jobs_here(const Environment& environment) {
  std::vector<RunningJob> jobs;
  for (const live::Socket& socket : live::sockets(environment)) {
    const auto answer = live::ask(socket.path, {"GET", "/job"}, name_limit);
    if (answer && !*answer) live::remove_if_dead(socket.path);
    if (!answer || !*answer || (*answer)->status != 200) continue;
    const json object = json_in((*answer)->body);
    if (!object.is_object()) continue;
    jobs.push_back({socket, (*answer)->pid, text_at(object, "job"), text_at(object, "id"),
                    text_at(object, "number"), text_at(object, "program"),
                    text_at(object, "started")});
  }
  return jobs;
}

// A root agent by its process id and the start of its job: the kernel gives ids again.
struct Root {
  int pid = 0;
  WallTime started{};

  bool is_of(const RunningJob& job) const {
    return job.socket.pid == pid && time_in(job.started) == started;
  }
  std::string word() const { return fmt::format("{}@{}", pid, rfc3339(started)); }
};

std::optional<Root> parse_root(std::string_view word) {
  const std::size_t end = word.find('@');
  if (end == word.npos) return std::nullopt;
  const auto pid = parse_int(word.substr(0, end));
  const auto started = time_in(word.substr(end + 1));
  if (!pid || !started || *pid <= 0 || *pid > std::numeric_limits<int>::max()) return std::nullopt;
  return Root{static_cast<int>(*pid), *started};
}

Result<RunningJob> job_of_root(const Root& root, const std::string& what,
                               const Environment& environment) {
  for (RunningJob& job : jobs_here(environment)) {
    if (root.is_of(job)) return std::move(job);
  }
  return fail(what,
              fmt::format("the job has ended: process {} of {} is not the root agent of this job",
                          root.pid, hosts::host_name()));
}

// The job whose root agent is a fork of this process, its keeper: `$!` in a shell. No other process
// above an agent names its job: job ids are small numbers as well, and init is above all.
std::optional<RunningJob> job_of_keeper(const std::vector<RunningJob>& jobs,
                                        std::string_view word) {
  const auto keeper = parse_int(word);
  if (!keeper || !std::in_range<pid_t>(*keeper)) return std::nullopt;
  const auto job = std::ranges::find_if(jobs, [&](const RunningJob& one) {
    return one.pid > 0 && process::parent_of(one.pid) == *keeper &&
           process::is_copy(one.pid, static_cast<pid_t>(*keeper));
  });
  return job == jobs.end() ? std::nullopt : std::optional(*job);
}

// "10227 (train.py, for 2 min 05 s)"; a path's last part has to do.
std::string name_and_program(const RunningJob& job, WallTime now) {
  std::vector<std::string> facts;
  if (!job.program.empty()) facts.push_back(printable(fs::path(job.program).filename().string()));
  if (const auto started = time_in(job.started)) {
    facts.push_back("for " + duration_text(std::max(now - *started, WallTime::duration(0))));
  }
  return facts.empty() ? name_of(job) : fmt::format("{} ({})", name_of(job), join(facts, ", "));
}

std::string names_of(std::vector<RunningJob> jobs) {
  std::ranges::sort(jobs, natural_less, [](const RunningJob& job) { return name_of(job); });
  std::vector<std::string> names;
  const WallTime now = std::chrono::system_clock::now();
  for (const RunningJob& job : jobs) names.push_back(name_and_program(job, now));
  return join(names, ", ");
}

bool is_named(const RunningJob& job, const std::string& name) {
  return job.id == name || job.name == name || job.socket.name == name;
}

// What a step of a job calls that job.
bool is_numbered(const RunningJob& job, const std::string& number) {
  return (job.number.empty() ? job.id : job.number) == number;
}

std::string cannot_ask(const std::string& path) {
  return "cannot ask the job of " + path;
}

// By the file of --report, which names the root agent.
struct Followed {
  std::string host;
  Root root;
};

Result<Followed> follow_report(const std::string& path, const std::string& what) {
  const auto report = TRY(jobs::read_report_to_follow(path, what));
  return Followed{report.run.root_host.raw(), {report.run.root_pid, report.run.started}};
}

// Ends with code {1} and a reason unless this user's process has the id still. Its folder of /proc
// does not become another process's.
constexpr std::string_view root_process =
    "refuse() {{ echo \"$1\" >&2; exit {1}; }}; "
    "cd /proc/{0} 2>/dev/null || refuse \"the job has ended: there is no process {0}\"; "
    "test -O . || refuse \"the job has ended: process {0} is of another user\"; "
    "test -e exe || refuse \"the job has ended: process {0} has ended\"";  // not of a zombie

// … and listens at a job's socket.
constexpr std::string_view root_socket =
    "; is_root() {{ for i in $(sed -n \"s:.* \\([0-9][0-9]*\\) "
    ".*/toprun[^/]*/{0}\\.[a-z0-9]*$:\\1:p\" "
    "net/unix); do ls -l fd | grep -q \"socket:\\[$i\\]\" && return; done; false; }}; "
    "is_root || refuse \"the job has ended: process {0} does not lead it\"; ";

// Runs the root agent's own program with its runtime folder: neither needs to be anywhere else.
constexpr std::string_view call_beside_root =
    "d=$(tr \"\\0\" \"\\n\" <environ | sed -n s/^XDG_RUNTIME_DIR=//p); "
    "XDG_RUNTIME_DIR=${{d:-$XDG_RUNTIME_DIR}} exec ./exe {0} {1}";

// Other codes are of ssh (255) and of shells.
constexpr int code_of_a_gone_root = 113;
constexpr std::chrono::seconds look_limit{12};  // ssh gives up on a host before

std::vector<std::string> ssh_command(const Followed& followed, const Environment& environment,
                                     const std::string& script) {
  return engines::ssh_command(environment, followed.host, fmt::format("exec sh -c '{}'", script));
}

std::vector<std::string> ssh_command(const Followed& followed, const Environment& environment,
                                     const std::vector<std::string>& words) {
  return ssh_command(followed, environment,
                     fmt::format(root_process, followed.root.pid, exit_failure) +
                         fmt::format(root_socket, followed.root.pid) +
                         fmt::format(call_beside_root, join(words, " "), followed.root.word()));
}

Result<RunningJob> the_only_job(const std::vector<RunningJob>& jobs, const std::string& verb,
                                const Environment& environment) {
  if (jobs.size() == 1) return jobs.front();
  const std::string fix = fmt::format("toprun {} JOB", verb);
  if (jobs.empty()) {
    TRY(live::socket_folder(environment));
    return fail(
        "none of your running jobs has this host as its first node",
        fmt::format("if no job is named, toprun {} asks the job whose first node is this host",
                    verb),
        "name the job: " + fix);
  }
  return fail(fmt::format("{} of your jobs run on this host", jobs.size()), names_of(jobs),
              "name one job: " + fix);
}

std::optional<Job> first_in(JobState state, const std::vector<Job>& jobs) {
  const auto job = std::ranges::find(jobs, state, &Job::state);
  return job == jobs.end() ? std::nullopt : std::optional(*job);
}

std::vector<std::string> running_tasks(const std::vector<Job>& jobs) {
  std::vector<std::string> tasks;
  for (const Job& one : jobs) {
    if (one.state == JobState::running && !one.array.empty()) tasks.push_back(one.id);
  }
  return tasks;
}

// "train (12)", as the title of a running job; "job 12" if the job has no name.
std::string title_of(const Job& job) {
  const std::string id = printable(job.id);
  return job.name.empty() || job.name == job.id ? "job " + id
                                                : fmt::format("{} ({})", printable(job.name), id);
}

// Why a job has not begun; empty: it is not going to.
std::vector<std::string> waiting_lines(const engines::Queue& queue, const std::vector<Job>& jobs) {
  if (const auto job = first_in(JobState::starting, jobs)) {
    return {fmt::format("{}: {}", title_of(*job), queue.state_words(job->state_word))};
  }
  const auto job = first_in(JobState::pending, jobs);
  if (!job) return {};
  std::vector<std::string> lines = {title_of(*job) + " waits"};
  for (std::string& line :
       jobs::lines_of(jobs::waiting(queue, *job), *job, std::chrono::system_clock::now())) {
    lines.push_back("  " + std::move(line));
  }
  return lines;
}

std::string more_in_status(const std::string& id) {
  return fmt::format("toprun status {} shows more", id);
}

std::unexpected<Error> does_not_run(const Asking& asking, const std::string& state,
                                    const std::string& id) {
  return fail(asking.what, "the job is not running: " + state, more_in_status(id));
}

// A number may be a process id, which this host knows, or a job id, which the engine knows.
std::unexpected<Error> found_nowhere(const std::string& id, const Asking& asking,
                                     const Error& from_engine) {
  if (!parse_int(id)) return std::unexpected(from_engine);
  return fail(asking.what, fmt::format("no job of yours on {} has the process id {}, and {}",
                                       hosts::host_name(), id, from_engine.line()));
}

Result<std::vector<Job>> jobs_to_ask(const engines::Queue& queue, const std::string& id,
                                     const Asking& asking) {
  auto found = jobs::jobs_of(queue, id);
  if (found) return found;
  const auto forgotten = jobs::forgotten_jobs(queue, id);
  if (forgotten.empty()) return found_nowhere(id, asking, found.error());
  if (forgotten.size() > 1) return does_not_run(asking, std::string(no_task_runs), id);
  return fail(asking.what, jobs::forgotten_words(forgotten.back(), &queue));
}

}  // namespace

// One line: of the other tasks their number.
std::unexpected<Error> several_tasks(const std::string& what, std::vector<std::string> tasks,
                                     std::string_view verb) {
  std::ranges::sort(tasks, natural_less);
  const std::size_t all = tasks.size();
  if (all > most_tasks_named) {
    tasks.resize(most_tasks_named);
    tasks.push_back(fmt::format("… ({} more)", all - most_tasks_named));
  }
  return usage(what, fmt::format("{} of its tasks {}", all, verb),
               "name one task: " + join(tasks, ", "));
}

std::string name_of(const RunningJob& job) {
  return job.id.empty() ? job.socket.name : job.id;
}

Result<std::optional<RunningJob>> job_of_report(const std::string& path, const std::string& what,
                                                const Environment& environment) {
  const auto followed = TRY(follow_report(path, what));
  if (followed.host != hosts::host_name()) return std::nullopt;
  return job_of_root(followed.root, what, environment);
}

RootLook look_at_root(const std::string& path, const Environment& environment) {
  const auto followed = follow_report(path, cannot_ask(path));
  if (!followed) return {RootLook::State::unknown, followed.error().line()};
  const auto& [host, root] = *followed;
  // It may have process ids of its own, which are not ours.
  const bool is_here = host == hosts::host_name();
  if (is_here && job_of_root(root, "", environment)) return {};
  const std::string script = fmt::format(root_process, root.pid, code_of_a_gone_root);
  const auto done = process::run(is_here ? std::vector<std::string>{"/bin/sh", "-c", script}
                                         : ssh_command(*followed, environment, script),
                                 environment, look_limit);
  if (!done) return {RootLook::State::unknown, done.error().line()};
  if (done->code == 0) return {};
  if (done->code == code_of_a_gone_root) {
    return {RootLook::State::gone,
            fmt::format("process {} of {} does not run any more", root.pid, printable(host))};
  }
  return {RootLook::State::unknown, fmt::format("{} cannot be asked: {}", printable(host),
                                                engines::ssh_trouble(done->err).why)};
}

Result<std::optional<RunningJob>> find_running_job(const std::string& word,
                                                   const Environment& environment,
                                                   const Asking& asking) {
  std::error_code error;
  if (!word.empty() && fs::is_regular_file(word, error)) {
    return job_of_report(word, cannot_ask(word), environment);
  }
  if (const auto root = parse_root(word)) return job_of_root(*root, asking.what, environment);
  const std::vector<RunningJob> jobs = jobs_here(environment);
  if (word.empty()) return the_only_job(jobs, asking.verb, environment);
  const bool is_inside = environment.non_empty("SLURM_JOB_ID") == word;
  const auto job = std::ranges::find_if(jobs, [&](const RunningJob& one) {
    return is_inside ? is_numbered(one, word) : is_named(one, word);
  });
  if (job != jobs.end()) return *job;
  // Of a job with process ids of its own, ours is another one than its own.
  const auto process = std::ranges::find_if(
      jobs, [&](const RunningJob& one) { return fmt::to_string(one.pid) == word; });
  if (process != jobs.end()) return *process;
  if (auto kept = job_of_keeper(jobs, word)) return kept;
  if (is_inside) {
    return fail(
        fmt::format("job {} does not run toprun, as far as {} shows",
                    engines::slurm::own_job_id(environment).value_or(word), hosts::host_name()),
        "the job has no root agent on that node");
  }
  return std::nullopt;
}

Result<Approach> approach_root(const std::string& id, const Environment& environment,
                               const Asking& asking, const std::vector<std::string>& words) {
  const auto queue = jobs::queue_of(id, environment);
  if (!queue) return found_nowhere(id, asking, queue.error());
  const std::vector<Job> found = TRY(jobs_to_ask(**queue, id, asking));
  const auto job = first_in(JobState::running, found);
  if (!job) {
    auto waits = waiting_lines(**queue, found);
    const bool is_array = found.size() > 1 && !found.front().array.empty();
    std::string state = is_array && waits.empty()
                            ? std::string(no_task_runs)
                            : jobs::summary_of(jobs::known_job(**queue, found.back())).words;
    if (waits.empty()) return does_not_run(asking, state, id);
    if (waits.size() > 1) state += fmt::format(": {}", trim(waits[1]));
    return Approach{.waits = std::move(waits), .state = std::move(state), .command = {}};
  }
  const auto files = jobs::files_of(**queue, *job);
  if (files && jobs::read_story(files->folder).launcher == "mpirun") {
    return fail(asking.what,
                fmt::format("mpirun starts this job's ranks (--launcher mpirun), and toprun {} "
                            "sees only ranks that toprun starts",
                            asking.verb),
                fmt::format("toprun logs -f {} shows their output", jobs::id_word(*job)));
  }
  auto tasks = running_tasks(found);
  if (tasks.size() > 1) return several_tasks(asking.what, std::move(tasks));
  const auto self = TRY(process::own_path());
  auto command = TRY((*queue)->command_beside_root(*job, self, words));
  return Approach{.waits = {},
                  .state = {},
                  .command = std::move(command),
                  .is_young = job->used && *job->used < root_listens_by};
}

std::string instead_of_ssh(const std::string& path, std::string_view verb,
                           const Environment& environment) {
  const auto job = jobs::job_at(path, environment);
  if (job && job->is_known)
    return fmt::format("toprun {} {} asks Slurm instead", verb, job->found.id);
  const auto report = jobs::read_report(path);
  return report && *report && !(*report)->run.root_host.empty()
             ? fmt::format("run the command on {}", (*report)->run.root_host)
             : std::string();
}

Result<std::vector<std::string>> command_beside_root(const std::string& id,
                                                     const Environment& environment,
                                                     const Asking& asking,
                                                     const std::vector<std::string>& words) {
  std::error_code error;
  if (fs::is_regular_file(id, error)) {
    const auto followed = TRY(follow_report(id, cannot_ask(id)));
    return ssh_command(followed, environment, words);
  }
  auto approach = TRY(approach_root(id, environment, asking, words));
  if (approach.waits.empty()) return std::move(approach.command);
  std::string state = std::move(approach.state);
  if (const std::size_t colon = state.find(": "); colon != std::string::npos) {
    state.replace(colon, 2, ", ");
  }
  return fail(asking.what, fmt::format("the job is not running yet ({})", state),
              more_in_status(id));
}

}  // namespace toprun::cli
