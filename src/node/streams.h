#pragma once

#include <string>
#include <string_view>

#include "agent/environment.h"
#include "agent/logs.h"
#include "output/output.h"
#include "plan/options.h"

namespace toprun::node {

inline constexpr plan::StreamSet stdout_stream = 1;
inline constexpr plan::StreamSet stderr_stream = 2;

// The destinations of one stream of a worker. `log`: its log file if the options ask for one; empty
// if no logs are kept.
output::StreamPlan stream_plan(const plan::Options& options, const agent::WorkerFacts& worker,
                               plan::StreamSet stream, const std::string& log,
                               std::string_view hostname);

// Whether --local-ranks-filter names none of a node's local ranks.
bool shows_no_rank(const plan::Options& options, int local_world_size);

// The output settings that all workers of a node share, except the console.
output::OutputPlan output_plan(const plan::Options& options, const agent::Logs& logs, int attempt);

}  // namespace toprun::node
