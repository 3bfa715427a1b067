#pragma once

#include <functional>
#include <string>

#include "engines/engine.h"
#include "node/link/result_post.h"
#include "node/plan/job.h"

namespace toprun::launch {

// The command with which the engine starts an agent on every node.
Result<engines::AgentCommand> step_command(const plan::Job& job);

// The path of this program for the nodes: the link by which it was called if the link's name
// matters, else the executable file.
std::string program_for(const plan::Job& job);

// The user's own arguments without --dry-run, for the agents.
std::vector<std::string> arguments_for(const plan::Job& job);

// Runs the engine's command. Writes the job's secret and the signals that this process receives to
// the command's standard input, and returns the exit code of the whole run.
int run_step(const plan::Job& job);

// What a command writes. `plain`: its output is shown unchanged. `tagged`: the output has pieces of
// the ranks' lines with tags (engines/mpi/mpirun_output.h), which are shown as whole lines.
enum class Written { plain, tagged };

// A launcher forwards each request to end (base/process/impatience.h). At the third request it
// kills the engine's command, or closes the connections, itself.
inline constexpr int cuts_after = 3;

struct CommandEnd {
  int exit_code = 0;
  // The last part of its stderr, unchanged; empty if its stderr does not pass through this process.
  std::string said = {};
  bool was_to_end = false;  // a signal to this process requested the end
};

// Runs an engine's command until it ends, with `stdin_fd` as its standard input. For a signal to
// this process, `pass_on` is called with the command's process id and the signal. `post`: where the
// root posts the run's exit code, which then replaces the command's; a command that continues after
// that is ended.
CommandEnd run_command(const engines::AgentCommand& command, const plan::Job& job, int stdin_fd,
                       Written written, const std::function<void(pid_t, int)>& pass_on,
                       link::ResultPost* post = nullptr);

}  // namespace toprun::launch
