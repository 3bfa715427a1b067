#pragma once

#include "launch/job.h"
#include "scheduler/engine.h"

namespace toprun::launch {

// The command by which the engine starts an agent on every node.
Result<scheduler::AgentCommand> step_command(const Job& job);

// The user's own arguments without --dry-run: what the agents are to run.
std::vector<std::string> arguments_for(const Job& job);

// Runs it: gives it the job's secret on its standard input, passes signals on the same way, and
// returns the exit code of the whole run.
int run_step(const Job& job);

}  // namespace toprun::launch
