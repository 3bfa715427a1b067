#pragma once

#include <string>
#include <vector>

#include "base/os/environment.h"

namespace toprun::cli {

// `toprun [run]`: runs the launch and returns its exit code.
int run(const std::vector<std::string>& argv, const Environment& environment);

// For run_options() and submit_options(). True also for a pipe or a device, but false for a folder.
bool is_file(const std::string& path);

// Executes the command line, a verb or a launch, and returns the exit code.
int act(std::vector<std::string> argv, const Environment& environment);

// Whether a login to this host or pod started this process. The process then reads its orders from
// standard input.
bool awaits_login_orders(const Environment& environment);

// Reads the orders from standard input and executes them. Prints the exit code as the last output,
// because ssh and kubectl may end with another exit code than the agent.
int run_login_agent(Environment environment);

}  // namespace toprun::cli
