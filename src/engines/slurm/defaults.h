#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "base/text/error.h"
#include "engines/slurm/facts.h"
#include "engines/slurm/job.h"

namespace toprun::engines {

enum class Purpose { batch, shell, setup };

// How long before its time limit a job gets its signal, unless the user chooses another time.
inline constexpr std::chrono::seconds default_signal_lead{120};
// How long a job may wait for nodes that are near each other. Slurm's own bound, max_switch_wait,
// is the same unless the administrator set another.
inline constexpr std::string_view switches_wait = "5:00";

// Adds what the user left out and the cluster suggests, each with its reason, and what is worth
// knowing to `notes`, one line each. Pure. Error (exit 2): what the cluster cannot give or would
// ignore. Facts that are not known decide nothing and refuse nothing.
Result<void> add_defaults(JobRequest& job, const SlurmFacts& facts, Purpose purpose,
                          std::vector<std::string>& notes);

}  // namespace toprun::engines
