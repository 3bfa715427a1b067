#pragma once

#include <chrono>
#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/os/environment.h"
#include "base/text/error.h"

namespace toprun::engines {

inline constexpr std::size_t most_refusal_lines = 4;  // of a program's output

// What the user can do if a program failed and printed `words`.
struct Advice {
  std::string_view words;
  std::string_view fix;
};

// Returns the error for an engine's program that failed. The error joins a few lines of stderr into
// one (complaint.h) and contains the advice. The first advice whose words occur in the output
// applies. Pure function.
Error refusal(std::string_view command, std::string_view stderr_text,
              std::span<const Advice> advices);

// Shows what a Slurm program printed on stderr although it succeeded, such as a site's news, or a
// warning that an option will be removed. Each process shows each line only once. Thread-safe.
void pass_on_warnings(std::string_view err);

// How a command that used the terminal ended.
struct Ended {
  int code = 0;          // 128+n: signal n ended it
  bool granted = false;  // the program printed `grant`, or `grant` was empty
  std::string errors;    // error lines that the program printed before `grant`; not shown yet
};

// Runs salloc or srun on this terminal. The program has this process's stdin, stdout and process
// group, and handles Ctrl-C itself until it ends. This function shows the program's stderr at once.
// Exception: until the program prints the text in `grant` (that the allocation was granted), this
// function stores error lines in Ended::errors, and the caller shows them. An empty `grant` means
// that this function shows all lines.
Result<Ended> run_on_terminal(const std::vector<std::string>& argv, const Environment& environment,
                              std::string_view grant);

// Returns the user name of this process: from USER or LOGNAME, or, if both are unset as in cron
// jobs and containers, from `id -un`. "uid-1000" if the host knows no name. Blocks for at most
// `limit`.
std::string user_name(const Environment& environment, std::chrono::milliseconds limit);

}  // namespace toprun::engines
