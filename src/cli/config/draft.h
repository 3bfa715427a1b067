#pragma once

#include <string>
#include <vector>

#include "cli/cluster.h"
#include "scheduler/kubernetes/choices.h"
#include "scheduler/queue.h"
#include "scheduler/slurm/facts.h"
#include "scheduler/slurm/submit.h"

namespace toprun::cli {

// Facts about an engine; unknown ones are empty.
struct ClusterPicture {
  std::string engine;  // "slurm", "kubernetes", "runai"; empty: there is none
  scheduler::Machines machines;
  scheduler::SlurmFacts facts;
  scheduler::Choices choices;
  scheduler::kubernetes::PodChoices pods;
};

// A toprun.toml for this cluster, with suggested settings and the alternatives as comments. Pure.
// find_config() and the verbs' own checks accept it unchanged.
std::string config_draft(const ClusterPicture& cluster);

}  // namespace toprun::cli
