#pragma once

#include <functional>
#include <string>

#include "engines/engine.h"
#include "node/plan/job.h"

namespace toprun::launch {

// The command by which the engine starts an agent on every node.
Result<engines::AgentCommand> step_command(const plan::Job& job);

// This program as the nodes find it: the link it was called by where its name matters, else the
// file.
std::string program_for(const plan::Job& job);

// The user's own arguments without --dry-run: what the agents are to run.
std::vector<std::string> arguments_for(const plan::Job& job);

// Runs it: gives it the job's secret on its standard input, passes signals on the same way, and
// returns the exit code of the whole run.
int run_step(const plan::Job& job);

// What a command writes: as it is, or pieces of its ranks' lines, tagged
// (engines/mpi/mpirun_output.h), which are shown as whole lines.
enum class Written { plain, tagged };

// A launcher passes on each wish to end (base/process/impatience.h), and with the third ends the
// engine's command, or the connections, itself.
inline constexpr int cuts_after = 3;

struct CommandEnd {
  int exit_code = 0;
  // The end of its stderr, as it came; empty where that does not pass through here.
  std::string said = {};
  bool was_to_end = false;  // a signal to this process asked for it
};

// Runs a command of an engine's to its end, with `stdin_fd` for its standard input. A signal to
// this process goes to `pass_on`, with the command's process id.
CommandEnd run_command(const engines::AgentCommand& command, const plan::Job& job, int stdin_fd,
                       Written written, const std::function<void(pid_t, int)>& pass_on);

}  // namespace toprun::launch
