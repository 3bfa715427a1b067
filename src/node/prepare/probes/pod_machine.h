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

// What pods with GPUs lose on a machine that they share, one line for each problem. The problems
// are two such pods on one machine, and a pod with fewer GPUs than its machine has. Pods without
// GPUs cause no warning: on one machine they share only the resources that they requested, and test
// clusters put all of them there. Agents outside pods cause no warning: if several run on one host,
// a user who knows that host has started them.
std::vector<std::string> pod_warnings(const std::vector<model::Join>& members);

}  // namespace toprun::probes
