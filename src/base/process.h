#pragma once

#include <sys/types.h>

#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/environment.h"
#include "base/error.h"

namespace toprun {

inline constexpr std::size_t max_output_bytes = 64u << 20;

// Where programs are looked for by an environment whose PATH is absent or empty.
inline constexpr std::string_view default_path = "/usr/local/bin:/usr/bin:/bin";
std::string search_path(const Environment& environment);

using IsExecutable = std::function<bool(const std::string& path)>;
bool is_executable_file(const std::string& path);  // a folder is none

// The file that runs as `name`: itself if it has a slash, else the first executable file of that
// name in the environment's PATH, an empty part of which is the current folder. Every search for a
// program is this one, so that what is checked is what is run.
std::optional<std::string> find_program(const std::string& name, const Environment& environment,
                                        const IsExecutable& is_executable = is_executable_file);

// kill(2) for one process or for the group of one leader. False: not sent, errno says why. Ids that
// kill(2) takes for several groups or for every process (0, -1, and group 1) are refused, so that
// an id that was reset after its process was reaped reaches nobody. The only calls of kill(2).
bool signal_process(pid_t pid, int signal);
bool signal_group(pid_t leader, int signal);

// argv or envp as exec and posix_spawn take it: a pointer to each of the words, which must stay,
// and a null.
std::vector<char*> exec_pointers(const std::vector<std::string>& words);

// How a command ended and what it wrote.
struct Finished {
  int code = 0;  // 128+n: signal n ended it
  std::string out;
  std::string err;
};

// Runs a command to its end. The program is looked up in the environment's PATH, `input` is its
// whole stdin, it gets a process group of its own and is killed with it after `timeout`. Blocks;
// reaps only the process it started. Error: not found, time-out, too much output.
Result<Finished> finish(const std::vector<std::string>& argv, const Environment& environment,
                        std::chrono::milliseconds timeout, std::string_view input = {});

// What a command wrote to stdout. Error as above, and where its code is not 0, with the first line
// of stderr as the reason.
Result<std::string> output_of(const std::vector<std::string>& argv, const Environment& environment,
                              std::chrono::milliseconds timeout);

}  // namespace toprun
