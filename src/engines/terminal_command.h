#pragma once

#include <string>
#include <vector>

#include "base/os/environment.h"
#include "base/text/error.h"

namespace toprun::engines {

// How a command that used the terminal ended.
struct Ended {
  int code = 0;          // 128+n: signal n ended it
  bool granted = false;  // the program printed `grant`, or `grant` was empty
  std::string errors;    // error lines that the program printed before `grant`; not shown yet
};

// Runs salloc or srun on this terminal. The program has this process's stdin, stdout and process
// group, and handles Ctrl-C itself until it ends. Its stderr output is shown at once, except error
// lines before the word `grant`: the caller shows these. If `grant` is empty, all lines are shown.
Result<Ended> run_on_terminal(const std::vector<std::string>& argv, const Environment& environment,
                              std::string_view grant);

}  // namespace toprun::engines
