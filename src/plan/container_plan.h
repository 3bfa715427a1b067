#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "container/runtime.h"
#include "plan/job.h"

namespace toprun::plan {

// The program of ours that is the only one in a container at first (agent/shim.h).
inline constexpr std::string_view program_inside = "/run/toprun/toprun";
inline constexpr std::string_view shim_socket_name = "agent";

// How this node's container is made and started.
struct ContainerPlan {
  const container::Runtime* runtime = nullptr;
  container::Node node;
  container::Run run;
  std::vector<container::Command> creation;  // of what it needs, where that is not there yet
  container::Command command;
};

// What is to be started in a container, and what for.
struct Inside {
  std::vector<container::Bind> binds;  // beside the user's and the current folder
  std::vector<std::string> program;
  std::vector<std::pair<std::string, std::string>> variables;
  bool interactive = false;
};

// `host`: this node's name. Errors: no such runtime here, an image that it does not take, a bind
// whose source is not there.
Result<ContainerPlan> plan_container(const container::Wanted& wanted, const Inside& inside,
                                     const Environment& environment, const std::string& host);

// With the shim as its program. `folder`: of this run alone, seen inside at the same path; the shim
// finds its socket and ranks their error files there.
Result<ContainerPlan> plan_container(const Job& job, const std::string& folder);

// The engine's own command starts the agents inside (pyxis): by these options of it and this
// program. Options are empty where agents start their node's container themselves.
struct EngineContainer {
  std::vector<std::string> options;
  std::string program;
};
// In the agents' environment: they are inside already.
inline constexpr const char* inside_variable = "TOPRUN_INSIDE";

Result<EngineContainer> plan_engine_container(const Job& job);

// With one rank in it, which this process is to become: a container of its own. `argv` is the
// rank's, `environment` complete but for the image's; `folder`, where its files are, may be empty.
Result<ContainerPlan> plan_rank(const Job& job, const std::vector<std::string>& argv,
                                const Environment& environment, const std::string& folder);

// PYTHON_EXEC as it was given for the container: by -e, --container-env or an EDF. The host's own
// names a program of the host.
std::optional<std::string> python_exec_inside(const Options& options,
                                              const Environment& environment);
// That it is left outside, for -v and --dry-run; empty: there is none, or it counts inside too.
std::string python_exec_note(const Options& options, const Environment& environment);

// The rank's program where it is not known what the container has.
std::vector<std::string> program_of_rank(const Options& options, const Environment& environment);

// With a shell in it that somebody uses, in a virtual environment if `venv` names one. All of
// `environment` that means something inside is there.
Result<ContainerPlan> plan_shell(const container::Wanted& wanted, const std::string& venv,
                                 const Environment& environment, const std::string& host,
                                 bool on_terminal);

}  // namespace toprun::plan
