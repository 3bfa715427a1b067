#pragma once

#include <string>
#include <string_view>

#include "agent/environment.h"
#include "agent/logs.h"
#include "agent/output.h"
#include "launch/options.h"

namespace toprun::launch {

inline constexpr StreamSet stdout_stream = 1;
inline constexpr StreamSet stderr_stream = 2;

// Where one stream of a worker goes. `log`: its log file, should it get one; empty if none are
// kept.
agent::StreamPlan stream_plan(const Options& options, const agent::WorkerFacts& worker,
                              StreamSet stream, const std::string& log, std::string_view hostname);

// What all workers of a node have in common, but for the console.
agent::OutputPlan output_plan(const Options& options, const agent::Logs& logs, int attempt);

}  // namespace toprun::launch
