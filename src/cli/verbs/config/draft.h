#pragma once

#include <optional>
#include <string>

#include "cli/verbs/cluster.h"
#include "engines/kubernetes/machines.h"
#include "engines/queue.h"
#include "engines/slurm/facts.h"
#include "engines/slurm/submit.h"

namespace toprun::cli {

// What config_draft() knows about the engine's cluster; unknown facts are empty.
struct ClusterPicture {
  std::optional<engines::QueueKind> engine;  // nullopt: no engine
  engines::Machines machines;
  engines::SlurmFacts facts;
  engines::Choices choices;
  engines::kubernetes::PodChoices pods;
};

// Generates a toprun.toml for this cluster, with suggested settings, and alternatives as comments.
// Pure. find_config() and the verbs accept this file as it is.
std::string config_draft(const ClusterPicture& cluster);

}  // namespace toprun::cli
