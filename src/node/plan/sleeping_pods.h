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
  // The job's pods, sorted by their number in the job. Any pod may have a problem
  // (JobPod::trouble).
  std::vector<engines::JobPod> pods;
};

// Queries the job's engine. `option`: the option with which the user named the job, for errors:
// "--in dev". Error: the job is unknown, has ended or has no pods.
Result<JobOfPods> find_pods(const std::string& option, const std::string& id,
                            const Environment& environment);

// Like find_pods(), but all pods must be running. The error names a pod that is not running, and
// the reason.
Result<JobOfPods> running_pods(const std::string& option, const std::string& id,
                               const Environment& environment);

// Converts the pods to nodes of a launch.
std::vector<engines::Node> nodes_of(const JobOfPods& found);

}  // namespace toprun::plan
