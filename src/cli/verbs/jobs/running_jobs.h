#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/os/environment.h"
#include "base/text/error.h"
#include "observe/live/folder.h"

namespace toprun::cli {

// A job of this user that runs with its root agent on this host.
struct RunningJob {
  live::Socket socket;
  pid_t pid = 0;  // of the root agent; 0: its process ids are not ours
  std::string name;
  std::string id;       // the engine's, as its users know it: "29_0"; empty: it has none
  std::string number;   // Slurm's own, which no other job has: "30"; empty: it is not Slurm's
  std::string program;  // the script, module or program
  std::string started;  // RFC 3339
};

// What a verb that asks a running job says of itself in errors.
struct Asking {
  std::string verb;  // "stacks"
  std::string what;  // "cannot tell where the ranks of job 17 stand"
};

// The job that the word names: an id, a name, the process of the root agent or its keeper, or the
// file of --report; without a word the only one. nullopt: it may run, but its root is not on this
// host.
Result<std::optional<RunningJob>> find_running_job(const std::string& word,
                                                   const Environment& environment,
                                                   const Asking& asking);
// The same by the file of --report alone.
Result<std::optional<RunningJob>> job_of_report(const std::string& path, const std::string& what,
                                                const Environment& environment);
// An array has several running tasks, and none of them is named.
std::unexpected<Error> several_tasks(const std::string& what, std::vector<std::string> tasks);
// So many lines of what that command complains of are shown.
inline constexpr std::size_t most_complaints = 2;
// The command that runs toprun with these words and the job's name on the host of the job's root,
// by the engine's own way; by ssh for the file of --report. The words need no quoting. An array of
// several running tasks is refused.
Result<std::vector<std::string>> command_beside_root(const std::string& id,
                                                     const Environment& environment,
                                                     const Asking& asking,
                                                     const std::vector<std::string>& words);

// How to ask a job that may not have begun.
struct Approach {
  std::vector<std::string> waits;    // lines: why it has not begun; empty: it has
  std::string state;                 // of one that waits, in words
  std::vector<std::string> command;  // as command_beside_root(), of a job that has begun
  bool is_young = false;             // its root agent may not listen yet
};
// Error: the job has ended, or it is unknown.
Result<Approach> approach_root(const std::string& id, const Environment& environment,
                               const Asking& asking, const std::vector<std::string>& words);

// The name by which an error calls the job.
std::string name_of(const RunningJob& job);

}  // namespace toprun::cli
