#pragma once

#include <string>
#include <vector>

#include "base/os/environment.h"
#include "base/text/error.h"

namespace toprun::engines {

// How a command that had the terminal ended.
struct Ended {
  int code = 0;          // 128+n: signal n ended it
  bool granted = false;  // it said so, or that it needed no grant
  std::string errors;    // what it wrote of errors before that, held back
};

// Runs salloc or srun on this terminal: it has our stdin, stdout and process group, and Ctrl-C is
// its own affair until it ends. What it says on stderr is shown as it comes, but for errors before
// `grant` is among its words, which are the caller's to tell. An empty `grant`: nothing is held
// back.
Result<Ended> run_on_terminal(const std::vector<std::string>& argv, const Environment& environment,
                              std::string_view grant);

}  // namespace toprun::engines
