#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/os/environment.h"
#include "base/text/error.h"
#include "observe/live/folder.h"

namespace toprun::cli {

// A running job of this user whose root agent is on this host.
struct RunningJob {
  live::Socket socket;
  pid_t pid = 0;  // the root agent's process id; 0: it runs in another PID namespace
  std::string name;
  std::string id;       // the job's id in the engine, as users see it: "29_0"; empty: no id
  std::string number;   // Slurm's unique job number: "30"; empty: not a Slurm job
  std::string program;  // the script, module or program
  std::string started;  // RFC 3339
};

// The verb that queries a running job, and what it wants to know, for error messages.
struct Asking {
  std::string verb;  // "stacks"
  std::string what;  // "cannot tell where the ranks of job 17 are"
};

// Finds the job that `word` names. The word is an id, a name, the file of --report, or a process
// id: of the root agent, or of the keeper (the root agent's supervising process). If the word is
// empty, finds the only running job on this host. nullopt: the job's root agent is not on this
// host; the job perhaps runs on another host.
Result<std::optional<RunningJob>> find_running_job(const std::string& word,
                                                   const Environment& environment,
                                                   const Asking& asking);
// Like find_running_job(), but names the job only by `path`, the file of --report.
Result<std::optional<RunningJob>> job_of_report(const std::string& path, const std::string& what,
                                                const Environment& environment);
// The result of look_at_root().
struct RootLook {
  enum class State { runs, gone, unknown };
  State state = State::runs;
  std::string why;  // if it is gone or unknown
};
// Finds out whether the root agent that a --report file names still runs on its host. For mpirun,
// checks mpirun's toprun. Uses ssh if the root agent's host is not this host. Blocks for at most
// some seconds.
RootLook look_at_root(const std::string& path, const Environment& environment);
// Returns the error: the user named an array job, and several of its tasks run. `verb`: "run", or
// "ran" after their end.
std::unexpected<Error> several_tasks(const std::string& what, std::vector<std::string> tasks,
                                     std::string_view verb = "run");
// If command_beside_root()'s command fails, at most this number of its error lines is shown.
inline constexpr std::size_t most_complaints = 2;
// Returns the command that runs toprun with `words` and the job's name on the root agent's host.
// The command reaches the host by the engine's own program (srun, kubectl), or by ssh if the user
// named the job by the file of --report. `words` must need no quotes in a shell. Error: the job is
// an array with several running tasks.
Result<std::vector<std::string>> command_beside_root(const std::string& id,
                                                     const Environment& environment,
                                                     const Asking& asking,
                                                     const std::vector<std::string>& words);

// The exit code of ssh itself, according to ssh(1).
inline constexpr int code_of_ssh = 255;
// Returns what to do if ssh did not reach the host of the root agent that this --report file names:
// "toprun top 16 asks Slurm instead", if Slurm knows the job.
std::string instead_of_ssh(const std::string& path, std::string_view verb,
                           const Environment& environment);

// How to query a job that has perhaps not started to run.
struct Approach {
  std::vector<std::string> waits;    // lines: why the job has not begun; empty: it has begun
  std::string state;                 // the state of a waiting job, in words
  std::vector<std::string> command;  // the result of command_beside_root(), if the job has begun
  bool is_young = false;             // the job has just begun, so the root agent may not listen yet
};
// Finds out how to query the job. Error: the job has ended, or it is unknown.
Result<Approach> approach_root(const std::string& id, const Environment& environment,
                               const Asking& asking, const std::vector<std::string>& words);

// Returns the job's name for errors.
std::string name_of(const RunningJob& job);

}  // namespace toprun::cli
