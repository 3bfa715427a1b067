#include <algorithm>
#include <chrono>
#include <thread>
#include <utility>

#include "base/net/address.h"
#include "base/net/hostlist.h"
#include "base/net/resolve.h"
#include "base/os/console.h"
#include "base/os/files.h"
#include "base/process/command.h"
#include "base/text/text.h"
#include "engines/slurm/facts.h"
#include "engines/slurm/scontrol_record.h"
#include "engines/slurm/slurm.h"
#include "engines/slurm/slurm_jobs.h"
#include "engines/slurm/variables.h"

namespace toprun::engines {
namespace {

// A requeue signals the job's processes a moment before it increases the restart count, and any
// signal to a job also reaches the command that asks Slurm.
constexpr int most_questions = 5;
constexpr std::chrono::milliseconds between_questions{100};

std::string_view preempted_at(const slurm::Record& record) {
  const std::string_view time = record.get("PreemptTime");
  return time == "Unknown" ? std::string_view() : time;
}

int restarts_in(const slurm::Record& record) {
  return static_cast<int>(slurm::leading_number(record.get("Restarts")).value_or(0));
}

// SLURM_RESTART_COUNT; nullopt: this is not a job, or the variable is not Slurm's.
std::optional<int> restarts_so_far(const Environment& environment) {
  if (!environment.non_empty("SLURM_JOB_ID")) return std::nullopt;
  const auto restarts = slurm::number(environment, "SLURM_RESTART_COUNT", 0, INT32_MAX);
  return restarts ? std::optional(static_cast<int>(restarts->value_or(0))) : std::nullopt;
}

std::string shown_job(const Environment& environment, std::chrono::milliseconds limit) {
  const std::string job = environment.get("SLURM_JOB_ID").value_or("");
  return process::output_of({"scontrol", "show", "job", "-o", job}, environment, limit)
      .value_or("");
}

using std::chrono::steady_clock;

constexpr std::int64_t last_watcher = 3;  // by SLURM_NODEID; 0 is the batch script's node
constexpr std::chrono::seconds between_looks{10};
constexpr std::chrono::seconds default_slurmd_timeout{300};  // slurm.conf(5)
constexpr int default_slurmd_port = 6'818;                   // slurm.conf(5)
constexpr std::chrono::seconds host_answer_limit{2};
constexpr std::chrono::seconds slack{60};  // until slurmctld has looked at its nodes again

struct SlurmdSettings {
  std::chrono::seconds timeout = default_slurmd_timeout;
  int port = default_slurmd_port;
};

// nullopt: slurmctld does not answer, perhaps because this node is cut off.
std::optional<SlurmdSettings> slurmd_settings(const Environment& environment) {
  const auto config =
      process::output_of({"scontrol", "show", "config"}, environment, engine_answer_limit);
  if (!config) return {};
  SlurmdSettings settings;
  if (const auto timeout = slurm::leading_number(slurm::config_value(*config, "SlurmdTimeout"))) {
    settings.timeout = std::chrono::seconds(*timeout);
  }
  const auto port = slurm::leading_number(slurm::config_value(*config, "SlurmdPort"));
  if (port && *port >= 1 && *port <= hosts::max_port) settings.port = static_cast<int>(*port);
  return settings;
}

// Whether this node reaches the batch script's host again: then it was this node that was cut off.
// Slurm itself sees to a host that has been restarted meanwhile.
bool is_reached_again(const std::string& host, int port) {
  const auto addresses = hosts::resolve(host, host_answer_limit);
  return addresses && hosts::answers(*addresses, port, host_answer_limit);
}

// The answer is ignored: another node may have sent the command first.
void give_back(const std::string& job, bool may_run_again, const Environment& environment) {
  const std::vector<std::string> command =
      may_run_again ? std::vector<std::string>{"scontrol", "requeue", job}
                    : std::vector<std::string>{"scancel", job};
  [[maybe_unused]] const auto done =
      process::run(command, environment, slurm_answer_limit(environment));
}

// "1:00" of "00:01:00", as all verbs write durations.
std::string_view without_zeros(std::string_view time) {
  if (time.starts_with("00:") && time.size() > 5) time.remove_prefix(3);
  if (time.starts_with('0') && time.size() > 4) time.remove_prefix(1);
  return time;
}

}  // namespace

std::optional<Stop> stop_in(std::string_view job, int restarts) {
  const slurm::Record record(job);
  if (const std::string_view at = preempted_at(record); !at.empty()) {
    return Stop{Stop::Reason::preemption, fmt::format("Slurm preempted the job at {}", at)};
  }
  if (restarts_in(record) > restarts) {
    return Stop{Stop::Reason::requeue, "Slurm requeued the job"};
  }
  if (record.get("JobState") != "TIMEOUT" && record.get("Reason") != "TimeLimit") {
    return std::nullopt;
  }
  return Stop{Stop::Reason::time_limit, fmt::format("the job reached its time limit of {} (--time)",
                                                    without_zeros(record.get("TimeLimit")))};
}

// cgroups(7): "6:freezer:/slurm_n0/uid_0/job_21/step_0", "0::/…/job_21/step_0/user/task_0".
bool is_tracked_by_cgroup(std::string_view cgroups) {
  for (const std::string_view line : split(cgroups, '\n')) {
    const auto parts = split(line, ':');
    if (parts.size() < 3 || (parts[1] != "freezer" && !parts[1].empty())) continue;
    if (line.contains("/job_") && line.contains("/step_")) return true;
  }
  return false;
}

bool awaits_requeue(std::string_view job, int restarts) {
  const slurm::Record record(job);
  return record.get("Requeue") == "1" && record.get("BatchFlag") == "1" &&
         record.get("JobState") == "RUNNING" && !preempted_at(record).empty() &&
         restarts_in(record) == restarts;
}

std::optional<Stop> SlurmEngine::why_stopped(const Environment& environment) const {
  const auto restarts = restarts_so_far(environment);
  if (!restarts) return std::nullopt;
  const auto deadline = std::chrono::steady_clock::now() + engine_answer_limit;
  for (int asked = 0; asked < most_questions; ++asked) {
    if (asked > 0) std::this_thread::sleep_for(between_questions);
    const auto left =
        std::chrono::ceil<std::chrono::milliseconds>(deadline - std::chrono::steady_clock::now());
    if (auto stop = stop_in(shown_job(environment, left), *restarts)) return stop;
  }
  return std::nullopt;
}

int SlurmEngine::requeues(const Environment& environment) const {
  return restarts_so_far(environment).value_or(0);
}

// The end of this process is part of the requeue, so everything else must be done before.
void SlurmEngine::put_back(const Environment& environment) const {
  const auto restarts = restarts_so_far(environment);
  if (!restarts || slurm::in_task_step(environment)) return;
  const auto limit = slurm_answer_limit(environment);
  if (!awaits_requeue(shown_job(environment, limit), *restarts)) return;
  const std::string job = environment.get("SLURM_JOB_ID").value_or("");
  say(fmt::format("job {} was preempted: it goes back into the queue", job));
  const auto done = process::run({"scontrol", "requeue", job}, environment, limit);
  if (done && done->code == 0) return;
  say(fmt::format("scontrol requeue {} failed: {}; submit the job again", job,
                  done ? printable(trim(done->err)) : done.error()->why));
}

// proc(5): the name of its program, which slurmstepd keeps when it renames itself for ps.
bool SlurmEngine::owns(pid_t process) const {
  const auto name = read_file(fmt::format("/proc/{}/comm", process));
  return name && trim(*name) == "slurmstepd";
}

bool SlurmEngine::signals_every_process(const Environment& environment) const {
  return slurm::in_task_step(environment) &&
         !is_tracked_by_cgroup(read_file("/proc/self/cgroup").value_or(""));
}

BatchScript batch_script_in(std::string_view job) {
  const slurm::Record record(job);
  if (record.get("JobState") != "RUNNING" || record.get("BatchFlag") != "1") {
    return BatchScript::none;
  }
  const auto nodes = hosts::expand_hostlist(record.get("NodeList"));
  const std::string_view host = record.get("BatchHost");
  if (!nodes || nodes->empty() || host.empty()) return BatchScript::alive;
  return std::ranges::find(*nodes, host) == nodes->end() ? BatchScript::lost : BatchScript::alive;
}

void SlurmEngine::requeue_orphaned(const Environment& environment, const Pause& pause) const {
  const auto job = environment.non_empty("SLURM_JOB_ID");
  const auto index = slurm::number(environment, "SLURM_NODEID", 0, INT32_MAX);
  if (!job || !index || !*index || **index < 1 || **index > last_watcher) return;
  const auto began = steady_clock::now();
  auto asked = slurmd_settings(environment);
  SlurmdSettings slurmd = asked.value_or(SlurmdSettings());
  bool said = false;
  do {
    const auto answer = process::output_of({"scontrol", "show", "job", "-o", *job}, environment,
                                           engine_answer_limit);
    if (!answer) continue;
    if (!asked) asked = slurmd_settings(environment);
    slurmd = asked.value_or(slurmd);
    const BatchScript script = batch_script_in(*answer);
    if (script == BatchScript::none) return;
    const slurm::Record record(*answer);
    if (script == BatchScript::alive) {
      if (is_reached_again(std::string(record.get("BatchHost")), slurmd.port)) return;
      continue;
    }
    const bool may_run_again = record.get("Requeue") == "1";
    if (!std::exchange(said, true)) {
      say(fmt::format("Slurm has lost the node that runs the batch script of job {}: {}", *job,
                      may_run_again ? "the job goes back into the queue" : "the job ends"));
    }
    give_back(*job, may_run_again, environment);  // and look whether that was done
  } while (pause(between_looks) && steady_clock::now() < began + slurmd.timeout + slack);
}

}  // namespace toprun::engines
