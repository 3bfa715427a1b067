#pragma once

#include <string>
#include <vector>

#include "base/os/environment.h"
#include "base/text/error.h"
#include "machine/container/container.h"
#include "node/plan/activation.h"

namespace toprun::cli {

// The environment in which the shell starts.
struct ShellPlace {
  plan::Activation activation;
  container::Request container;
};

// The command that starts the shell on a job's node. The command is the shell itself, or a toprun
// that sets up the environment on the node and then executes the shell. Error: toprun's own path is
// unknown.
Result<std::vector<std::string>> entry_command(const std::string& shell, const ShellPlace& place);

// On the node: executes the shell, or the container runtime that starts the shell in a container.
// Returns only if the environment cannot be set up or exec fails.
Error enter_shell(const std::string& shell, const ShellPlace& place,
                  const Environment& environment);

}  // namespace toprun::cli
