#pragma once

#include <functional>
#include <string>

#include "engines/engine.h"
#include "node/link/result_post.h"
#include "node/plan/job.h"

namespace toprun::launch {

// The command with which the engine starts an agent on every node.
Result<engines::AgentCommand> step_command(const plan::Job& job);

// The path of this program for the nodes. If this program was called by a link whose name matters,
// the result is the link's path. Otherwise the result is the path of the executable file.
std::string program_for(const plan::Job& job);

// The user's own arguments without --dry-run, for the agents.
std::vector<std::string> arguments_for(const plan::Job& job);

// Runs the engine's command. Writes the job's secret and the signals that this process receives to
// the command's standard input, and returns the exit code of the whole run.
int run_step(const plan::Job& job);

// The form of a command's output. `plain`: the output is shown unchanged. `tagged`: the output
// consists of pieces of the ranks' lines with tags (engines/mpi/mpirun.h), and is shown in
// whole lines.
enum class Written { plain, tagged };

// A launcher forwards the first two requests to end (base/process/impatience.h). At the third
// request, the launcher kills the engine's command or closes the connections.
inline constexpr int cuts_after = 3;

struct CommandEnd {
  int exit_code = 0;
  // The last part of its stderr, unchanged; empty if its stderr does not pass through this process.
  std::string said = {};
  bool was_to_end = false;  // this process received a signal to end
};

// Runs an engine's command until it ends, with `stdin_fd` as its standard input. If this process
// receives a signal, `pass_on` is called with the command's process id and the signal. `post`
// receives the run's exit code from the root. This exit code replaces the command's exit code. If
// the command still runs when the exit code arrives, the command is ended.
CommandEnd run_command(const engines::AgentCommand& command, const plan::Job& job, int stdin_fd,
                       Written written, const std::function<void(pid_t, int)>& pass_on,
                       link::ResultPost* post = nullptr);

}  // namespace toprun::launch
