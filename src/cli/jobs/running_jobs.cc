#include "cli/jobs/running_jobs.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <filesystem>

#include <nlohmann/json.hpp>

#include "base/clock.h"
#include "base/json_members.h"
#include "base/json_text.h"
#include "base/text.h"
#include "hosts/address.h"
#include "jobs/job_report.h"
#include "jobs/job_words.h"
#include "live/client.h"
#include "scheduler/login/ssh.h"

namespace toprun::cli {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

constexpr std::chrono::seconds name_limit{3};  // for a job to say its name

// `root`: only the one with this root agent.
std::vector<RunningJob> jobs_here(const Environment& environment,
                                  std::optional<std::int64_t> root = {}) {
  std::vector<RunningJob> jobs;
  for (const live::Socket& socket : live::sockets(environment)) {
    if (root && socket.pid != *root) continue;
    const auto answer = live::ask(socket.path, {"GET", "/job"}, name_limit);
    // Nobody listens: its job was killed.
    if (answer && !*answer) ::unlink(socket.path.c_str());
    if (!answer || !*answer || (*answer)->status != 200) continue;
    const json object = json_in((*answer)->body);
    if (!object.is_object()) continue;
    jobs.push_back({socket, text_at(object, "job"), text_at(object, "id"),
                    text_at(object, "program"), text_at(object, "started")});
  }
  return jobs;
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

std::string names_of(const std::vector<RunningJob>& jobs) {
  std::vector<std::string> names;
  const WallTime now = std::chrono::system_clock::now();
  for (const RunningJob& job : jobs) names.push_back(name_and_program(job, now));
  return join(names, ", ");
}

bool is_named(const RunningJob& job, const std::string& name) {
  return job.id == name || job.name == name || fmt::to_string(job.socket.pid) == name;
}

// By the file of --report, which names the root agent.
Result<jobs::JobReport> report_at(const std::string& path) {
  const auto report = jobs::read_report(path);
  if (!report) return std::unexpected(report.error());
  const std::string what = "cannot ask the job of " + path;
  if (!*report || (*report)->root_pid == 0) {
    return fail(what, "it does not say where the job's root agent is",
                "give the file that --report names");
  }
  if ((*report)->exit_code) return fail(what, "the job has ended");
  return **report;
}

Result<std::optional<RunningJob>> job_of_report(const std::string& path,
                                                const Environment& environment) {
  const auto report = report_at(path);
  if (!report) return std::unexpected(report.error());
  if (report->root_host != hosts::host_name()) return std::nullopt;
  const std::vector<RunningJob> jobs = jobs_here(environment, report->root_pid);
  if (jobs.empty()) return fail("cannot ask the job of " + path, "the job has ended");
  return jobs.front();
}

// By ssh, with the root agent's own program and runtime folder: neither needs to be anywhere else.
std::vector<std::string> ssh_command(const jobs::JobReport& report, const Environment& environment,
                                     const std::vector<std::string>& words) {
  const std::string root = fmt::format("/proc/{}", report.root_pid);
  std::string script = fmt::format(
      "test -d {0} || {{ echo \"the job has ended\" >&2; exit 1; }}; "
      "d=$(tr \"\\0\" \"\\n\" <{0}/environ | sed -n s/^XDG_RUNTIME_DIR=//p); "
      "XDG_RUNTIME_DIR=${{d:-$XDG_RUNTIME_DIR}} exec {0}/exe",
      root);
  for (const std::string& word : words) script += ' ' + word;
  return scheduler::ssh_command(environment, report.root_host,
                                fmt::format("exec sh -c '{} {}'", script, report.root_pid));
}

Result<RunningJob> the_only_job(const std::vector<RunningJob>& jobs, const std::string& verb) {
  if (jobs.size() == 1) return jobs.front();
  const std::string fix = fmt::format("toprun {} JOB", verb);
  if (jobs.empty()) {
    return fail(
        "no job of yours runs here",
        fmt::format("toprun {} without a job asks the one whose root agent is on this host", verb),
        "name it: " + fix);
  }
  return fail(fmt::format("{} jobs of yours run here", jobs.size()), names_of(jobs),
              "name one: " + fix);
}

}  // namespace

std::string name_of(const RunningJob& job) {
  return job.id.empty() ? fmt::to_string(job.socket.pid) : job.id;
}

Result<std::optional<RunningJob>> find_running_job(const std::string& word,
                                                   const Environment& environment,
                                                   const Asking& asking) {
  std::error_code error;
  if (!word.empty() && fs::is_regular_file(word, error)) {
    return job_of_report(word, environment);
  }
  if (const auto root = parse_int(word)) {
    const std::vector<RunningJob> job = jobs_here(environment, *root);
    if (!job.empty()) return job.front();
  }
  const std::vector<RunningJob> jobs = jobs_here(environment);
  if (word.empty()) return the_only_job(jobs, asking.verb);
  const auto job =
      std::ranges::find_if(jobs, [&](const RunningJob& one) { return is_named(one, word); });
  if (job != jobs.end()) return *job;
  const bool is_inside = environment.non_empty("SLURM_JOB_ID") == word;
  if (is_inside) {
    return fail(fmt::format("job {} cannot be asked", word), "its root agent is not on this node");
  }
  return std::nullopt;
}

Result<std::vector<std::string>> command_beside_root(const std::string& id,
                                                     const Environment& environment,
                                                     const Asking& asking,
                                                     const std::vector<std::string>& words) {
  std::error_code error;
  if (fs::is_regular_file(id, error)) {
    const auto report = report_at(id);
    if (!report) return std::unexpected(report.error());
    return ssh_command(*report, environment, words);
  }
  const auto queue = jobs::queue_of(id, environment);
  if (!queue) return std::unexpected(queue.error());
  const auto found = jobs::jobs_of(**queue, id);
  if (!found) return std::unexpected(found.error());
  const auto job = std::ranges::find(*found, scheduler::JobState::running, &scheduler::Job::state);
  if (job == found->end()) {
    return fail(asking.what, "it does not run", fmt::format("toprun status {} says more", id));
  }
  return (*queue)->command_beside_root(*job, fs::read_symlink("/proc/self/exe", error), words);
}

}  // namespace toprun::cli
