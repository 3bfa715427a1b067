#include <algorithm>
#include <chrono>
#include <utility>

#include "base/net/address.h"
#include "base/net/hostlist.h"
#include "base/net/resolve.h"
#include "base/os/console.h"
#include "base/process/command.h"
#include "engines/slurm/facts.h"
#include "engines/slurm/scontrol_record.h"
#include "engines/slurm/slurm.h"
#include "engines/slurm/slurm_jobs.h"
#include "engines/slurm/variables.h"

namespace toprun::engines {
namespace {

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

}  // namespace

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
