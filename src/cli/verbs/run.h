#pragma once

#include <string>
#include <vector>

#include "base/os/environment.h"
#include "cli/options/split.h"

namespace toprun::cli {

// `toprun [run]`: runs the launch and returns its exit code.
int run(const std::vector<std::string>& argv, const Environment& environment);

// Whether `words`, the command line, have a "--" between the script and its arguments. split() has
// removed this "--". If there was a "--", the words after it are certainly the script's arguments.
bool is_behind_dashes(const options::Split& split, const std::vector<std::string>& words);

// Whether the path is a file, a pipe or a device; false for a folder. run_options() and
// submit_options() use this function.
bool is_file(const std::string& path);

// Executes the command line, a verb or a launch, and returns the exit code.
int act(std::vector<std::string> argv, const Environment& environment);

// Whether toprun's launcher started this process by a login (ssh, or exec into a pod). Such a
// process reads the launcher's instructions from standard input.
bool awaits_login_orders(const Environment& environment);

// Reads the launcher's instructions from standard input and runs the agent. Prints the agent's exit
// code at the end, because ssh and kubectl may exit with another code.
int run_login_agent(Environment environment);

}  // namespace toprun::cli
