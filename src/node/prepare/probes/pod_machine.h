#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "base/os/environment.h"
#include "run/model/messages.h"

namespace toprun::probes {

// The machine below this pod, from files below `root`. A pod in a virtual machine of its own (Kata
// Containers) sees that one.
model::PodMachine look_at_machine(const Environment& environment,
                                  const std::filesystem::path& root = "/");

// What pods with GPUs lose on a machine that they do not have to themselves, one line each: two of
// them on one machine, or fewer GPUs than it has. Nothing about pods without GPUs: on one machine
// these share only what they asked for, and test clusters put all of them there. Nothing about
// agents outside of pods: several on one host are started by a user who knows that host.
std::vector<std::string> pod_warnings(const std::vector<model::Join>& members);

}  // namespace toprun::probes
