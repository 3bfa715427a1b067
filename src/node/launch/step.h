#pragma once

#include <functional>
#include <optional>
#include <string>

#include "engines/engine.h"
#include "node/link/result_post.h"
#include "node/plan/job.h"

namespace toprun::launch {

// Returns the command with which the engine starts an agent on every node.
Result<engines::AgentCommand> step_command(const plan::Job& job);

// Returns the path with which the nodes start this program. This is the link through which toprun
// was called, if the link's name matters; else the executable file.
std::string program_for(const plan::Job& job);

// Returns the arguments for the agents: the user's own arguments without --dry-run.
std::vector<std::string> arguments_for(const plan::Job& job);

// Runs the engine's command. To the standard input of this command, writes the job's secret, and
// each signal that this process receives. Returns the exit code of the whole run.
int run_step(const plan::Job& job);

// The form of a command's output. `plain`: the output is shown unchanged. `tagged`: the command
// prints the ranks' lines in pieces, each with a tag that names its rank (engines/mpi/mpirun.h);
// toprun joins the pieces and shows whole lines.
enum class Written { plain, tagged };

// A launcher forwards the first two requests to end the run (base/process/impatience.h). At the
// third request, the launcher kills the engine's command or closes the connections.
inline constexpr int cuts_after = 3;

// How an engine's command ended.
struct CommandEnd {
  int exit_code = 0;
  // The last part of the command's stderr, unchanged; empty if stderr does not pass through this
  // process.
  std::string said = {};
  std::optional<int> asked_by = {};  // the first signal to end that this process received
};

// Runs an engine's command until it ends, with `stdin_fd` as its standard input. For each signal
// that this process receives, calls `pass_on` with the command's process id and the signal. If the
// root sends the run's exit code to `post`, the result contains this exit code, not the command's,
// and run_command() ends a command that still runs.
CommandEnd run_command(const engines::AgentCommand& command, const plan::Job& job, int stdin_fd,
                       Written written, const std::function<void(pid_t, int)>& pass_on,
                       link::ResultPost* post = nullptr);

}  // namespace toprun::launch
