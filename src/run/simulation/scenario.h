#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "run/conductor/settings.h"
#include "run/simulation/timeline.h"

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
  signal_to_agent,  // SIGTERM, delivered once or, within a second, two or three times
  signal_to_all,
  signal_again,      // to an agent, and once more when its user has waited
  ranks_hang,        // one rank stands still, and the others wait for it
  malformed,         // the agent sends an invalid message
  echoes,            // from now on messages of earlier attempts arrive again
  store_lost,        // the store's node dies, like node_dies, as soon as ranks are assigned
  joins,             // another agent joins
  comes_again,       // a node's agent is gone, and another comes on the same host
  flaps,             // the same, again and again, soon after its ranks have started
  mute,              // the agent beats and says nothing more, until its user ends the job
  no_order,          // the ranks' order is computed late, or never; or a member dies meanwhile, and
                     // the next order is late, too
  no_store_found,    // a node's search for the store does not end
  no_workplace,      // … the start of its container, or the copy of its environment
  no_ranks_started,  // … the start of its ranks, until the pool gives it up
  no_end_reported,   // the report of the end is not written
  pool_full,         // the agent's pool takes no work for a while: each answer is none, at once
  rank_alarmed,      // a rank has given up waiting for others, and says so in the store
  places_asked,      // where do the ranks stand?
  terminal_paused,   // the root's terminal takes no output for a while
  asked_to_grow,     // SIGURG
  noticed,           // SIGUSR1, to one node's ranks or to all
};
inline constexpr int fault_kinds = static_cast<int>(FaultKind::noticed) + 1;
std::string_view name_of(FaultKind kind);

struct Fault {
  FaultKind kind = FaultKind::rank_exits;
  milliseconds at{0};  // since the start
  int node = 0;        // an index into the agents
  int rank = 0;        // its index on the node
  int code = 1;
  milliseconds lasts{0};  // cut_off, stopped …; rank_exits: from its exception to its exit
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
  int saving_percent = 0;       // … and of those that save for seconds before they obey it
  int graceful_percent = 0;     // … and of those that exit with 0 when interrupted
  bool records_errors = false;  // the ranks write error files, which tell when they raised
  bool gathers_output = false;  // the root shows what all ranks print
  bool encodes = false;         // messages pass through their form on the wire
  bool long_names = false;      // hosts have names as long as a message may hold
  bool has_indices = false;     // the engine numbers the nodes
  std::optional<int> unfit;     // this node cannot take part
  std::vector<Fault> faults;    // in order of time
};

// The name of the engine's node with this number.
std::string name_of_node(int place, bool is_long);

// A scenario with at most `size` nodes.
Scenario scenario(std::uint64_t seed, int size);
// A scenario for an elastic job with this number of nodes, and of faults one after the other.
Scenario large(std::uint64_t seed, int nodes, int faults);
// A scenario without faults for ranks that an engine started, each with its own agent.
Scenario in_place(std::uint64_t seed, int ranks);

}  // namespace toprun::simulation
