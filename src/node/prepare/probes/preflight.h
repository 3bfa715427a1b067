#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "base/os/environment.h"
#include "node/plan/job.h"
#include "run/model/messages.h"

namespace toprun::probes {

// The machine on which this pod runs, from files below `root`. A pod in its own virtual machine
// (Kata Containers) sees that virtual machine.
model::PodMachine look_at_machine(const Environment& environment,
                                  const std::filesystem::path& root = "/");

// Warnings about pods with GPUs that share a machine, one line for each problem. The problems are
// two such pods on one machine, and a pod with fewer GPUs than its machine has. Pods without GPUs
// cause no warning: test clusters put all pods on one machine, and each pod gets only the resources
// that it requested. Agents outside pods cause no warning either: if several agents run on one
// host, a user has started them on purpose.
std::vector<std::string> pod_warnings(const std::vector<model::Join>& members);

inline constexpr std::size_t most_preflight_warnings = 8;
// Scripts larger than this are compared only by their size.
inline constexpr std::size_t longest_hashed_script_bytes = 4u << 20;

// This host's resources for the run, from a few files and system calls. The function starts no
// program, reads only regular files (a script may be a pipe) and takes much less than 5 ms.
model::Evidence examine(const plan::Job& job);

// Problems that will soon make ranks fail or compute wrong results. Each line says where the
// problem is, what it is and how to fix it. Agents without evidence (--no-preflight) are skipped;
// unknown facts cause no warning.
std::vector<std::string> preflight_warnings(const std::vector<model::Join>& members);

}  // namespace toprun::probes
