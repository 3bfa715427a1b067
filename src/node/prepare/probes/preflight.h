#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "base/os/environment.h"
#include "node/plan/job.h"
#include "run/model/messages.h"

namespace toprun::probes {

// Identifies the machine on which this pod runs, from files below `root`. For a pod in its own
// virtual machine (Kata Containers), the machine is the virtual machine.
model::PodMachine look_at_machine(const Environment& environment,
                                  const std::filesystem::path& root = "/");

// Warns about pods with GPUs that share a machine, one line for each problem: two such pods on one
// machine, or a pod with fewer GPUs than its machine has. Pods without GPUs cause no warning,
// because test clusters put all pods on one machine, and each pod gets only the resources that it
// requested. Agents outside pods cause no warning, because a user has started them on one host on
// purpose.
std::vector<std::string> pod_warnings(const std::vector<model::Join>& members);

inline constexpr std::size_t most_preflight_warnings = 8;
// Larger scripts are not hashed, so the root compares only their sizes between nodes.
inline constexpr std::size_t longest_hashed_script_bytes = 4u << 20;

// Examines this host's resources for the run with a few files and system calls. Starts no program,
// reads only regular files (a script may be a pipe) and takes much less than 5 ms.
model::Evidence examine(const plan::Job& job);

// Warns about problems that will soon make ranks fail or compute wrong results. Each line says
// where the problem is, what it is and how to fix it. Skips agents that sent no facts about their
// hosts (--no-preflight); unknown facts cause no warning.
std::vector<std::string> preflight_warnings(const std::vector<model::Join>& members);

}  // namespace toprun::probes
