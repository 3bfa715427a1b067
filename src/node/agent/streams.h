#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/os/fd.h"
#include "base/text/error.h"
#include "node/output/output.h"
#include "node/plan/options.h"
#include "node/worker/environment.h"
#include "node/worker/logs.h"

namespace toprun::agent {

// Returns the path of this node's file for --node-log DIR: DIR/HOST.out. nullopt without
// --node-log.
std::optional<std::string> node_log_path(const plan::Options& options, const std::string& host);

// Opens the --node-log file for appending. Creates its folder if the folder is missing.
Result<Fd> open_node_log(const std::string& path);

// Whether the file's last line has no line end, perhaps because its writer was killed. False if the
// file cannot be read.
bool ends_within_line(const std::string& path);

inline constexpr plan::StreamSet stdout_stream = 1;
inline constexpr plan::StreamSet stderr_stream = 2;

// Returns the destinations of one output stream of a worker. `log`: the path of the stream's log
// file, used if the options request a log file; empty if no logs are kept.
output::StreamPlan stream_plan(const plan::Options& options, const worker::WorkerFacts& worker,
                               plan::StreamSet stream, const std::string& log,
                               std::string_view hostname);

// Whether --local-ranks-filter hides the output of all local ranks of this node.
bool shows_no_rank(const plan::Options& options, int local_world_size);

// Returns the output settings that all workers of a node share. The caller sets the console.
output::OutputPlan output_plan(const plan::Options& options, const worker::Logs& logs, int attempt);

}  // namespace toprun::agent
