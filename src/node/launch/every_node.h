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

// A line that toprun printed on one of the nodes, and when the line arrived on this node.
struct NodeLine {
  std::string text;
  WallTime arrived;
};

struct EveryNode {
  std::vector<std::string> hosts;  // the hosts on which toprun was to run
  std::vector<NodeLine> lines;     // from all nodes, in the order of arrival
  bool by_login = false;           // true: started by ssh; false: by a step of the engine
};

// The time limit for the first line. This time is long enough for an engine's step to begin. This
// time is also long enough for all logins, if logins_at_once logins run at the same time for
// login_limit each.
inline constexpr std::chrono::seconds first_line_limit{120};
inline constexpr std::chrono::seconds first_line_limit_per_host{2};
// After the first line: the time limit without another line. The verb must end by itself in less
// time.
inline constexpr std::chrono::seconds silence_limit{40};
inline constexpr std::size_t max_node_lines_bytes = 256u << 20;

// Runs options.command_line, which is one of toprun's verbs, once on every node. The nodes are the
// hosts of --hosts or --hostfile, by ssh, or else the nodes of the allocation around this process,
// by its engine. Nodes that cannot be reached are left out; each reason is printed in one line on
// stderr. nullopt: this process runs on the only node, or is one of several processes that the
// engine has started. Errors: invalid options; more than max_node_lines_bytes. Blocks for at most
// the limits above; a step that runs longer is killed.
Result<std::optional<EveryNode>> run_on_every_node(const plan::Options& options,
                                                   const Environment& environment);

}  // namespace toprun::launch
