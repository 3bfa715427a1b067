#pragma once

#include <optional>
#include <string>

#include "cli/verbs/cluster.h"
#include "engines/kubernetes/machines.h"
#include "engines/queue.h"
#include "engines/slurm/facts.h"
#include "engines/slurm/submit.h"

namespace toprun::cli {

// Facts about an engine; unknown facts are empty.
struct ClusterPicture {
  std::optional<engines::QueueKind> engine;  // nullopt: no engine
  engines::Machines machines;
  engines::SlurmFacts facts;
  engines::Choices choices;
  engines::kubernetes::PodChoices pods;
};

// Generates a toprun.toml for this cluster, with suggested settings, and alternatives as comments.
// Pure. The result is valid without changes, for find_config() and for the verbs.
std::string config_draft(const ClusterPicture& cluster);

}  // namespace toprun::cli
