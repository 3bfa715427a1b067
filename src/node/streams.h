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

// Where one stream of a worker goes. `log`: its log file, should it get one; empty if none are
// kept.
output::StreamPlan stream_plan(const plan::Options& options, const agent::WorkerFacts& worker,
                               plan::StreamSet stream, const std::string& log,
                               std::string_view hostname);

// What all workers of a node have in common, but for the console.
output::OutputPlan output_plan(const plan::Options& options, const agent::Logs& logs, int attempt);

}  // namespace toprun::node
