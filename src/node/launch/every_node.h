#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "base/os/environment.h"
#include "base/text/clock.h"
#include "base/text/error.h"
#include "node/plan/options.h"

namespace toprun::launch {

// A line that toprun printed on one of the nodes, and when it arrived here.
struct NodeLine {
  std::string text;
  WallTime arrived;
};

struct EveryNode {
  std::vector<std::string> hosts;  // where toprun was to run
  std::vector<NodeLine> lines;     // of all nodes, in the order of their arrival
  bool by_login = false;           // by ssh, otherwise by an engine's step
};

// Until the first line comes: the time for an engine's step to begin, or for the logins, when
// logins_at_once run at a time for login_limit each.
inline constexpr std::chrono::seconds first_line_limit{120};
inline constexpr std::chrono::seconds first_line_limit_per_host{2};
// Afterwards: the time without another line. The verb must end by itself in less.
inline constexpr std::chrono::seconds silence_limit{40};
inline constexpr std::size_t max_node_lines_bytes = 256u << 20;

// Runs options.command_line, a verb of toprun's, once on every node: on the hosts of --hosts or
// --hostfile by ssh, else on the nodes of the allocation around this process by its engine. Nodes
// that cannot be reached are left out, after a line on stderr for each reason. nullopt: this
// process is on the only node, or is itself one of several that the engine started. Errors: the
// options; more than max_node_lines_bytes. Blocks, within the limits above; a step that still runs
// then is killed.
Result<std::optional<EveryNode>> run_on_every_node(const plan::Options& options,
                                                   const Environment& environment);

}  // namespace toprun::launch
