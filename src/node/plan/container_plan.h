#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/text/error.h"
#include "machine/container/runtimes.h"
#include "node/plan/job.h"

namespace toprun::plan {

// toprun's path in a container whose first program is toprun's shim (node/worker/shim.h).
inline constexpr std::string_view program_inside = "/run/toprun/toprun";
inline constexpr std::string_view shim_socket_name = "agent";

// The commands that create and start this node's container.
struct ContainerPlan {
  const container::Runtime* runtime = nullptr;
  container::Node node;
  container::Run run;
  std::vector<container::Command> creation;  // commands to run first, which create missing parts
  container::Command command;
  std::optional<container::Command> removal;  // removes what an interrupted start has left behind
};

// Plans the container with the shim as its program. Errors: the runtime is missing or does not
// support the image, or a bind's source is missing. `folder` is used only by this run, has the same
// path inside the container, and contains the shim's socket and the ranks' error files.
Result<ContainerPlan> plan_container(const Job& job, const std::string& folder);

// Additions to the engine's command that starts the agents; plan_engine_container() returns them.
// With pyxis, the engine's command starts the agents inside containers. `options` are options to
// add to the engine's command; empty if the agents themselves start their node's container.
struct EngineContainer {
  std::vector<std::string> options;
  std::string program;
};
// This variable is set for agents that the engine starts inside a container.
inline constexpr const char* inside_variable = "TOPRUN_INSIDE";

Result<EngineContainer> plan_engine_container(const Job& job);

// Plans a container for the one rank that this process will become. `argv` is the rank's command
// line. `environment` has all variables for the rank except the image's. `folder` contains the
// rank's files and may be empty.
Result<ContainerPlan> plan_rank(const Job& job, const std::vector<std::string>& argv,
                                const Environment& environment, const std::string& folder);

// Returns PYTHON_EXEC for the container, from -e, --container-env or an EDF. Ignores the host's own
// PYTHON_EXEC, because it names a program on the host.
std::optional<std::string> python_exec_inside(const Options& options,
                                              const Environment& environment);
// Returns a note for -v and --dry-run that the host's PYTHON_EXEC is not used inside the container.
// Empty if the variable is unset, or is also valid inside the container.
std::string python_exec_note(const Options& options, const Environment& environment);

// Returns the command line of a rank in a container whose contents are unknown.
std::vector<std::string> program_of_rank(const Options& options, const Environment& environment);

// Plans the container with an interactive shell, in the virtual environment `venv` unless that is
// empty. Sets all variables of `environment` that are useful inside the container.
Result<ContainerPlan> plan_shell(const container::Request& request, const std::string& venv,
                                 const Environment& environment, const std::string& host,
                                 bool on_terminal);

}  // namespace toprun::plan
