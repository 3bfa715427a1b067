#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/os/environment.h"
#include "base/text/error.h"
#include "engines/allocation.h"
#include "engines/queue.h"

namespace toprun::plan {

// A job whose nodes are pods in which commands can be executed.
struct JobOfPods {
  std::unique_ptr<engines::Queue> queue;
  engines::Job job;
  std::vector<engines::JobPod> pods;  // by their number in the job; each may be in trouble
};

// Asks the job's engine. `option`: the user's word for the job, for errors: "--in dev". Error: the
// job is unknown, has ended or has no pods.
Result<JobOfPods> find_pods(const std::string& option, const std::string& id,
                            const Environment& environment);

// The same, all of whose pods run. Error: which of them does not, and why.
Result<JobOfPods> running_pods(const std::string& option, const std::string& id,
                               const Environment& environment);

// The pods as nodes of a launch.
std::vector<engines::Node> nodes_of(const JobOfPods& found);

}  // namespace toprun::plan
