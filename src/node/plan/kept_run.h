#pragma once

#include <string>
#include <string_view>

#include "base/os/environment.h"
#include "base/text/error.h"

namespace toprun::plan {

// A run whose agents outlive the logins that started them (--detach). On each node it has a folder:
//
//   out          what its agent and ranks print, at the root of all nodes
//   pid          of its agent's keeper, which passes signals on
//   report.json  at the root, see --report
//   code         the agent's exit code, once it has ended
//
// The folder is below that of all runs of a user.
std::string kept_runs_folder(std::string_view temporary, std::string_view uid);
inline constexpr std::string_view kept_output = "out";
inline constexpr std::string_view kept_pid = "pid";
inline constexpr std::string_view kept_report = "report.json";
inline constexpr std::string_view kept_code = "code";

// Makes the run's folder and goes on in a process of its own, in a session without a terminal. The
// caller's process holds the login until all agents of the run are about to join:
//
//   starting --leave_login() of the new process--> kept --"go"--> the login ends with 0
//   starting, kept --the launcher's end or a signal--> the new process is ended
//
// It says login_kept when it is kept.
//
// Reads the secret that comes on stdin behind the orders first, and hands it and the report's place
// on in the environment. Returns the run's folder, in the new process. Error: that of one of the
// two processes.
Result<std::string> keep_running(const std::string& run, Environment& environment);
// The launcher's word, on a line of its own.
inline constexpr std::string_view kept_go = "go";

// Called when nothing more keeps the agent from joining: its output goes to the run's folder from
// here on, before it went to the login. Does nothing where keep_running() was not called.
Result<void> leave_login();

// Says in the folder how the agent has ended.
void keep_exit_code(const std::string& folder, int exit_code);

}  // namespace toprun::plan
