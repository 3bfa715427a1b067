#include "node/agent/evidence/last_act.h"

#include <signal.h>
#include <sys/resource.h>

#include "base/process/child.h"

namespace toprun::evidence {

std::vector<int> unread_ranks(const std::vector<hang::Group>& groups) {
  std::vector<int> ranks;
  for (const hang::Group& group : groups) {
    const hang::Standing& standing = group.standing;
    if (!standing.frames.empty() || standing.no_frames.empty()) continue;
    ranks.insert(ranks.end(), group.ranks.begin(), group.ranks.end());
  }
  return ranks;
}

void abort_with_traceback(pid_t pid) {
  rlimit core{};
  if (pid <= 0 || ::prlimit(pid, RLIMIT_CORE, nullptr, &core) != 0) return;
  if (core.rlim_cur == 0 && core.rlim_max >= 1) {
    core.rlim_cur = 1;
    ::prlimit(pid, RLIMIT_CORE, &core, nullptr);
  }
  process::signal_process(pid, SIGABRT);
}

}  // namespace toprun::evidence
