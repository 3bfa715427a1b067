#pragma once

#include <string>
#include <vector>

#include "cli/cluster.h"
#include "scheduler/queue.h"
#include "scheduler/slurm/facts.h"
#include "scheduler/slurm/submit.h"

namespace toprun::cli {

// What an engine tells of itself. What is not known is empty.
struct ClusterPicture {
  std::string engine;  // "slurm"; empty: there is none
  scheduler::Machines machines;
  scheduler::SlurmFacts facts;
  scheduler::Choices choices;
};

// A toprun.toml for this cluster: what it suggests as settings, what else there is as comments.
// Pure. find_config() and the verbs' own checks accept it as it is.
std::string config_draft(const ClusterPicture& cluster);

}  // namespace toprun::cli
