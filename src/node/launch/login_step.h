#pragma once

#include <string>
#include <vector>

#include "base/text/error.h"
#include "node/plan/job.h"

namespace toprun::launch {

// Logins that may be under way at once: an sshd, or the one jump host before all others, drops more
// (MaxStartups).
inline constexpr int logins_at_once = 16;

// The commands that reach the hosts or pods, one each, in the order in which they begin. That of
// this very host is the agent itself.
struct LoginCommands {
  struct One {
    engines::Node node;
    bool here = false;
    std::vector<std::string> argv;
  };
  std::vector<One> hosts;
};
Result<LoginCommands> login_commands(const plan::Job& job);

// The orders of a host's agent as --dry-run shows them: without what only the logins tell.
std::string login_orders_text(const plan::Job& job);

// Starts an agent on every host or in every pod, gives each its orders and the job's secret, passes
// signals on, and returns the exit code of the whole run, the root agent's. An agent ends when its
// connection does; so the launcher stays until all have ended. With --detach the agents go on
// without it, and it prints the run's id on stdout.
enum class StepOf {
  job,
  verb,  // looks at each host by itself: no host needs another
};
int run_login_step(const plan::Job& job, StepOf what = StepOf::job);

}  // namespace toprun::launch
