#pragma once

#include <string>
#include <vector>

#include "base/error.h"
#include "container/runtime.h"
#include "launch/job.h"

namespace toprun::launch {

// The program of ours that is the only one in a container at first (agent/shim.h).
inline constexpr std::string_view program_inside = "/run/toprun/toprun";
inline constexpr std::string_view shim_socket_name = "agent";

// How this node's container is made and started.
struct ContainerPlan {
  const container::Runtime* runtime = nullptr;
  container::Node node;
  container::Run run;
  std::vector<container::Command> creation;  // of one that is kept under a name
  container::Command command;
};

// `folder`: of this run alone, seen inside at the same path; the shim finds its socket and ranks
// their error files there. Errors: no such runtime here, an image that it does not take, a bind
// whose source is not there.
Result<ContainerPlan> plan_container(const Job& job, const std::string& folder);

}  // namespace toprun::launch
