#pragma once

#include <string>
#include <vector>

#include "base/text/error.h"
#include "node/launch/login.h"
#include "node/plan/job.h"

namespace toprun::launch {

// How many logins are made at the same time. If more logins are made at once, an sshd or a jump
// host may drop connections (MaxStartups in sshd_config(5)).
inline constexpr int logins_at_once = 16;

// One command per host or pod, in the order in which the commands are started. For the launcher's
// own host, the command is the agent itself.
struct LoginCommands {
  struct One {
    engines::Node node;
    bool here = false;
    std::vector<std::string> argv;
  };
  std::vector<One> hosts;
  std::vector<LoginProgram> programs;  // programs that can be copied to hosts
};
Result<LoginCommands> login_commands(const plan::Job& job);

// Returns the instructions for a host's agent (LoginOrders), as --dry-run shows them. Leaves out
// the facts that the launcher learns only from the logins.
std::string login_orders_text(const plan::Job& job);

enum class StepOf {
  job,
  verb,  // runs a verb of toprun on each host separately; no host needs another host
};
// Starts an agent on every host or in every pod, and sends each agent its instructions and the
// job's secret. Forwards signals. Returns the exit code of the whole run, which is the root agent's
// exit code. An agent ends when its connection ends, so the launcher stays until all agents have
// ended. With --detach, the agents continue without the launcher, which prints the run's id on
// stdout.
int run_login_step(const plan::Job& job, StepOf what = StepOf::job);

}  // namespace toprun::launch
