#pragma once

#include <string>
#include <string_view>

#include "base/environment.h"
#include "base/error.h"

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

// Makes the run's folder and goes on there in a process of its own, in a session without a
// terminal, with its output in the folder; the caller's process ends with 0. Reads the secret that
// comes on stdin behind the orders first, and hands it and the report's place on in the
// environment. Returns the run's folder, in the new process. Error: in the caller's process.
Result<std::string> keep_running(const std::string& run, Environment& environment);

// Says in the folder how the agent has ended.
void keep_exit_code(const std::string& folder, int exit_code);

}  // namespace toprun::plan
