#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>
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

// Why a login failed on these hosts. The step that makes the logins reports it in a line of its
// own.
struct FailedLogin {
  std::vector<std::string> hosts;
  std::string why;
  std::string fix;
};
std::string line_of(const FailedLogin& failed);  // {"failed_login": …}, with its line end
std::optional<FailedLogin> failed_login_in(std::string_view line);

// What run_on_every_node() returns.
struct EveryNode {
  std::vector<std::string> hosts;  // the hosts on which toprun was to run
  std::vector<NodeLine> lines;     // from all nodes, in the order of arrival
  bool by_login = false;           // true: started by ssh; false: by a step of the engine
  std::vector<FailedLogin> failed = {};
};

// How long to wait for the first line of output from any node. This time is enough for an engine's
// step to begin, and for all logins, if logins_at_once run at the same time for login_limit each.
inline constexpr std::chrono::seconds first_line_limit{120};
inline constexpr std::chrono::seconds first_line_limit_per_host{2};
// After the first line, how long to wait for the next line from any node. A toprun command that
// runs on every node must end by itself in less time than this.
inline constexpr std::chrono::seconds silence_limit{40};
inline constexpr std::size_t max_node_lines_bytes = 256u << 20;

// Runs options.command_line, one of toprun's subcommands, once on every node. Uses ssh on the hosts
// of --hosts or --hostfile, or else the engine on the nodes of the allocation around this process.
// Leaves out nodes that cannot be reached, and prints each reason in one line on stderr. Returns
// nullopt, without running anything, if this process runs on the only node, or is one of several
// processes that the engine has started. Errors: invalid options; the nodes print more than
// max_node_lines_bytes. Blocks for at most the limits above, and kills a step that runs longer.
Result<std::optional<EveryNode>> run_on_every_node(const plan::Options& options,
                                                   const Environment& environment);

}  // namespace toprun::launch
