#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "base/text/error.h"
#include "engines/slurm/facts.h"
#include "engines/slurm/job.h"

namespace toprun::engines {

enum class Purpose { batch, shell, setup };

// How long before its time limit a job receives a signal, unless the user chooses another time.
inline constexpr std::chrono::seconds default_signal_lead{120};
// How long a job may wait for nodes that are close to each other. The value is the default of
// Slurm's own limit, max_switch_wait.
inline constexpr std::string_view switches_wait = "5:00";

// Adds options that the user left out and the cluster supports, each with a reason. Adds useful
// hints to `notes`, one line each. Pure function. Error (exit 2): the cluster cannot fulfil a
// request of the user, or would ignore it. If a fact about the cluster is unknown, no option is
// added and no request is refused because of it.
Result<void> add_defaults(JobRequest& job, const SlurmFacts& facts, Purpose purpose,
                          std::vector<std::string>& notes);

}  // namespace toprun::engines
