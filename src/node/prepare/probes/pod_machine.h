#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "base/os/environment.h"
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

}  // namespace toprun::probes
