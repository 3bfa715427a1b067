#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "run/settings.h"
#include "simulation/timeline.h"

namespace toprun::simulation {

enum class FaultKind {
  rank_exits,   // with its own exit code
  rank_killed,  // by a signal that toprun did not send
  workers_do_not_start,
  container_fails,
  network_refused,  // the workers communicate over another network than the required one
  agent_dies,       // its keeper ends its processes
  keeper_dies,      // its agent learns of it
  both_die,         // the kernel ends the workers
  node_dies,        // without any message
  cut_off,          // no message passes in one or both directions for a while
  stopped,          // the agent is stopped for a while (SIGSTOP)
  signal_to_agent,  // SIGTERM
  signal_to_all,
  ranks_hang,  // one rank stands still, and the others wait for it
  malformed,   // the agent sends an invalid message
  echoes,      // from now on messages of earlier attempts arrive again
  store_lost,  // the store's node dies, like node_dies, as soon as ranks are assigned
  joins,       // another agent joins
};
std::string_view name_of(FaultKind kind);

struct Fault {
  FaultKind kind = FaultKind::rank_exits;
  milliseconds at{0};  // since the start
  int node = 0;        // an index into the agents
  int rank = 0;        // its index on the node
  int code = 1;
  milliseconds lasts{0};  // cut_off and stopped; rank_exits: from its exception to its exit
  bool to_root = true;    // cut_off: the direction
  bool to_node = true;
};

// One simulated run; the seed determines all values.
struct Scenario {
  std::uint64_t seed = 0;
  run::Settings settings;
  int agents = 1;  // number at the start
  int slots = 1;
  bool container = false;
  milliseconds container_takes{0};
  milliseconds work{0};  // run time of an attempt without faults
  milliseconds slowest_message{5};
  int stubborn_percent = 0;     // percentage of ranks that ignore SIGTERM
  int graceful_percent = 0;     // … and of those that exit with 0 when interrupted
  bool records_errors = false;  // the ranks write error files, which tell when they raised
  std::vector<Fault> faults;    // in order of time
};

// A scenario with at most `size` nodes.
Scenario scenario(std::uint64_t seed, int size);
// A scenario for an elastic job with this number of nodes, and of faults one after the other.
Scenario large(std::uint64_t seed, int nodes, int faults);
// A scenario without faults for ranks that an engine started, each with its own agent.
Scenario in_place(std::uint64_t seed, int ranks);

}  // namespace toprun::simulation
