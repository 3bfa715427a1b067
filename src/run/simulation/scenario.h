#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "run/conductor/settings.h"
#include "run/simulation/timeline.h"

namespace toprun::simulation {

enum class FaultKind {
  rank_exits,   // a rank raises an exception and exits with its own exit code
  rank_killed,  // a rank is killed by a signal that toprun did not send
  workers_do_not_start,
  container_fails,
  network_refused,  // the workers do not use the required network
  agent_dies,       // the keeper ends the agent's processes
  keeper_dies,      // the keeper dies, and the agent detects this
  both_die,         // agent and keeper die, and the kernel ends the workers
  node_dies,        // the node dies without a message
  cut_off,          // one or both directions deliver no messages for a while
  stopped,          // the agent is stopped for a while (SIGSTOP)
  signal_to_agent,  // SIGTERM or SIGINT, delivered one to three times within a second
  signal_to_all,
  signal_again,    // SIGINT to an agent, and SIGTERM after a wait
  ranks_hang,      // one rank makes no progress, and the others wait for it
  malformed,       // the agent sends an invalid message
  echoes,          // from now on, messages from earlier attempts arrive again
  store_lost,      // the node with the store dies, as in node_dies, once ranks are assigned
  joins,           // another agent joins
  comes_again,     // an agent dies, and another agent joins from the same host
  flaps,           // like comes_again, but repeated, soon after each start of ranks
  mute,            // the agent sends nothing but heartbeats until the user ends the job
  no_order,        // the order of the ranks is computed late or never; or a member dies during the
                   // computation, and the next order is late too
  no_store_found,  // the search for the store on one node does not end, or ends late
  no_workplace,    // the container's start, or the environment's copy, does not end
  no_ranks_started,  // the ranks have not started when the pool's time limit ends
  no_end_reported,   // the report of the job's end is not written
  pool_full,         // the agent's thread pool refuses work for a while: each request fails at once
  rank_alarmed,      // a rank stops waiting for others and reports that through the store
  places_asked,      // a user asks where the ranks are in their code
  terminal_paused,   // the root's terminal accepts no output for a while
  asked_to_grow,     // SIGURG to an agent: the job may grow
  noticed,           // SIGUSR1 to the ranks on one node or to all ranks
};
inline constexpr int fault_kinds = static_cast<int>(FaultKind::noticed) + 1;
std::string_view name_of(FaultKind kind);

struct Fault {
  FaultKind kind = FaultKind::rank_exits;
  milliseconds at{0};  // time since the start
  int node = 0;        // an index into the agents
  int rank = 0;        // the rank's index on the node
  int code = 1;
  milliseconds lasts{0};  // how long cut_off, stopped … last; for rank_exits, the time from the
                          // exception to the exit
  bool to_root = true;    // for cut_off: whether messages to the root are cut off
  bool to_node = true;
};

// One simulated run. The seed determines all values.
struct Scenario {
  std::uint64_t seed = 0;
  run::Settings settings;
  int agents = 1;  // number of agents at the start
  int slots = 1;
  bool container = false;
  milliseconds container_takes{0};
  milliseconds work{0};  // run time of an attempt without faults
  milliseconds slowest_message{5};
  int stubborn_percent = 0;     // percentage of ranks that ignore SIGTERM
  int saving_percent = 0;       // percentage of ranks that save a checkpoint for seconds before
                                // they obey SIGTERM
  int graceful_percent = 0;     // percentage of ranks that exit with 0 when interrupted
  bool records_errors = false;  // the ranks write error files with the time of the exception
  bool gathers_output = false;  // the root shows what all ranks print
  bool encodes = false;         // messages are encoded and decoded as on the network
  bool long_names = false;      // host names have the maximum length of a message field
  bool has_indices = false;     // the engine assigns an index to each node
  std::optional<int> unfit;     // the index of a node that cannot take part
  std::vector<Fault> faults;    // in chronological order
};

// The name of the node with this index.
std::string name_of_node(int place, bool is_long);

// A scenario with at most `size` nodes.
Scenario scenario(std::uint64_t seed, int size);
// A scenario for an elastic job with `nodes` nodes and `faults` faults, one fault after another.
Scenario large(std::uint64_t seed, int nodes, int faults);
// A scenario without faults for ranks that an engine started, each with its own agent.
Scenario in_place(std::uint64_t seed, int ranks);

}  // namespace toprun::simulation
