#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/os/environment.h"
#include "base/text/error.h"
#include "engines/allocation.h"
#include "engines/queue.h"

namespace toprun::plan {

// A job whose nodes are pods in which commands can be executed.
struct JobOfPods {
  std::unique_ptr<engines::Queue> queue;
  engines::Job job;
  // The job's pods, sorted by their number in the job. A pod that does not run has a reason in
  // JobPod::trouble.
  std::vector<engines::JobPod> pods;
};

// Asks the engine for the job `id` and its pods. `option`: the option with which the user named the
// job, for errors: "--in dev". Error: the job is unknown, has ended or has no pods.
Result<JobOfPods> find_pods(const std::string& option, const std::string& id,
                            const Environment& environment);

// Like find_pods(), but all pods must be running. The error names a pod that is not running, and
// the reason.
Result<JobOfPods> running_pods(const std::string& option, const std::string& id,
                               const Environment& environment);

// Converts the pods to nodes of a launch.
std::vector<engines::Node> nodes_of(const JobOfPods& found);

// With --detach, the agents of a run outlive the logins that started them. Such a run has a folder
// on each node:
//
//   out          the output of the node's agent and ranks; at the root, the output of all nodes
//   pid          the process id of the agent's keeper, which forwards signals
//   report.json  at the root, see --report
//   code         the agent's exit code, once the agent has ended
//
// Returns the folder that contains the folders of all runs of a user.
std::string kept_runs_folder(std::string_view temporary, std::string_view uid);
inline constexpr std::string_view kept_output = "out";
inline constexpr std::string_view kept_pid = "pid";
inline constexpr std::string_view kept_report = "report.json";
inline constexpr std::string_view kept_code = "code";

// Creates the folder of the run named `run` and forks a new process, in a session without a
// terminal. Returns the folder in the new process. The caller's process returns from this function
// only with an error. Otherwise, the caller's process keeps the login open until the launcher sends
// kept_go:
//
//   starting --the new process calls leave_login()--> kept --kept_go--> the login ends with 0
//   starting, kept --the launcher ends, or a signal--> the new process is ended
//
// The caller's process prints login_kept when it reaches the state kept.
//
// Before the fork, reads the secret, which follows the LoginOrders on stdin. Passes the secret and
// the path for --report to the new process in the environment. An error may be returned in the
// caller's process or in the new process.
Result<std::string> keep_running(const std::string& run, Environment& environment);
// The line that the launcher sends to all logins when all agents are certain to join.
inline constexpr std::string_view kept_go = "go";

// Call leave_login() when nothing prevents the agent from joining any more. After this call, the
// agent's output goes to files in the run's folder, not to the login (such as an SSH connection).
// Does nothing if keep_running() was not called.
Result<void> leave_login();

// Writes the agent's exit code to a file in the run's folder.
void keep_exit_code(const std::string& folder, int exit_code);

}  // namespace toprun::plan
