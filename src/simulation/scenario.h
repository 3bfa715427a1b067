#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "run/settings.h"
#include "simulation/timeline.h"

namespace toprun::simulation {

enum class FaultKind {
  rank_exits,   // with a code of its own
  rank_killed,  // by a signal that nobody of us sent
  workers_do_not_start,
  container_fails,
  agent_dies,       // its keeper ends what it had started
  keeper_dies,      // its agent hears of it
  both_die,         // the kernel ends the workers
  node_dies,        // without a word
  cut_off,          // no message passes, in one direction or both, for a while
  stopped,          // the agent (SIGSTOP), for a while
  signal_to_agent,  // SIGTERM
  signal_to_all,
  malformed,  // the agent sends nonsense
  echoes,     // what was said in attempts that are over comes once more
  joins,      // a further agent comes
};
std::string_view name_of(FaultKind kind);

struct Fault {
  FaultKind kind = FaultKind::rank_exits;
  milliseconds at{0};  // since the beginning
  int node = 0;        // an index into the agents
  int rank = 0;        // among those of the node
  int code = 1;
  milliseconds lasts{0};  // cut_off and stopped; rank_exits: from its exception to its end
  bool to_root = true;    // cut_off: the direction
  bool to_node = true;
};

// One run, all chosen by a seed.
struct Scenario {
  std::uint64_t seed = 0;
  run::Settings settings;
  int agents = 1;  // that come at the beginning
  int slots = 1;
  bool container = false;
  milliseconds container_takes{0};
  milliseconds work{0};  // of an attempt in which nothing happens
  milliseconds slowest_message{5};
  int stubborn_percent = 0;   // of the ranks ignore SIGTERM
  int graceful_percent = 0;   // … end with 0 when they are interrupted
  std::vector<Fault> faults;  // in the order of time
};

// `size`: so many nodes at most.
Scenario scenario(std::uint64_t seed, int size);
// An elastic job of that many nodes, in which so many things go wrong, one after the other.
Scenario large(std::uint64_t seed, int nodes, int faults);
// Ranks that an engine started, each with an agent of its own; nothing goes wrong.
Scenario in_place(std::uint64_t seed, int ranks);

}  // namespace toprun::simulation
