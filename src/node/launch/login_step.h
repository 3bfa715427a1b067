#pragma once

#include <string>
#include <vector>

#include "base/text/error.h"
#include "node/launch/login.h"
#include "node/plan/job.h"

namespace toprun::launch {

// The number of logins that may be in progress at the same time. If more logins are in progress, an
// sshd or a jump host may drop connections (MaxStartups).
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
  std::vector<LoginProgram> programs;  // that hosts can get
};
Result<LoginCommands> login_commands(const plan::Job& job);

// The instructions for a host's agent, as --dry-run shows them. Facts that are known only after the
// logins are left out.
std::string login_orders_text(const plan::Job& job);

// Starts an agent on every host or in every pod, and sends each agent its instructions and the
// job's secret. Forwards signals. Returns the exit code of the whole run, which is the root agent's
// exit code. An agent ends when its connection ends, so the launcher stays until all agents have
// ended. With --detach, the agents continue without the launcher, which prints the run's id on
// stdout.
enum class StepOf {
  job,
  verb,  // runs a verb of toprun on each host separately; no host needs another host
};
int run_login_step(const plan::Job& job, StepOf what = StepOf::job);

}  // namespace toprun::launch
