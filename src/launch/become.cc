#include "launch/become.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>

#include "agent/spawn.h"
#include "base/text.h"

namespace toprun::launch {
namespace {

std::vector<char*> pointers(std::vector<std::string>& texts) {
  std::vector<char*> out;
  for (std::string& text : texts) out.push_back(text.data());
  out.push_back(nullptr);
  return out;
}

}  // namespace

Error become(const agent::WorkerPlan& plan, const agent::Inherited& inherited, int lifeline) {
  auto path = agent::find_program(plan.argv.front(), plan.environment.get("PATH").value_or(""),
                                  "this node");
  if (!path) return path.error();
  std::vector<std::string> argv = plan.argv;
  std::vector<std::string> environment = plan.environment.entries();
  ::fcntl(lifeline, F_SETFD, 0);
  inherited.restore();
  const std::vector<std::byte> affinity = agent::affinity_mask(plan.cpus);
  if (!affinity.empty() &&
      ::syscall(SYS_sched_setaffinity, 0, affinity.size(), affinity.data()) < 0) {
    return fail_errno("--numa-binding: cannot bind this rank").error();
  }
  ::execve(path->c_str(), pointers(argv).data(), pointers(environment).data());
  return fail_errno("cannot start " + *path).error();
}

}  // namespace toprun::launch
