#pragma once

#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "node/plan/job.h"
#include "run/simulation/scenario.h"

namespace toprun::rehearsal {

using simulation::Dice;
using std::chrono::milliseconds;

enum class FaultKind {
  rank_exits,     // a rank exits with the exit code of the fault
  rank_killed,    // a rank is killed by a signal that toprun did not send
  agent_dies,     // an agent dies, and its ranks die with it
  link_lost,      // both ends detect the loss
  ranks_hang,     // one rank makes no progress, and the other ranks wait for this rank
  fails_in_look,  // as ranks_hang, and the rank is killed while stacks are read slowly
  // A rank is killed while the terminal is blocked; the terminal continues between two attempts.
  fails_unread,
  places_asked,   // a process queries where the ranks are
  output_stands,  // the root's terminal accepts no output for a while
  signalled,      // SIGTERM is sent to one agent
  orphaned,       // an agent's keeper is killed
  paused,         // SIGTSTP is sent, and SIGCONT after a while
};
std::string_view name_of(FaultKind kind);

struct Fault {
  FaultKind kind = FaultKind::rank_exits;
  milliseconds at{0};  // since the start
  std::size_t node = 0;
  std::size_t rank = 0;  // the rank's index on the node
  int code = 1;
  milliseconds lasts{0};
};

// How often a pool's work is late, lost or refused, in percent of the calls.
struct PoolFaults {
  int late = 0;   // the result comes late, after up to `latest`
  int never = 0;  // the result never comes
  int full = 0;   // the work is refused
  milliseconds latest{30'000};
};

// The description of one run; the seed determines all values.
struct Script {
  std::uint64_t seed = 0;
  // The jobs, indexed by node; the first job is the root's job.
  std::vector<std::shared_ptr<const plan::Job>> jobs;
  milliseconds work{0};      // a rank's run time without faults
  int lines = 0;             // the number of lines that each rank prints
  int stubborn_percent = 0;  // percentage of ranks that ignore SIGTERM
  milliseconds slowest_message{5};
  PoolFaults pool;
  int ras_percent = 0;  // how often a rank's NCCL RAS thread listens, in percent
  std::vector<Fault> faults;

  // True if the pool's scripted faults cause no failure and no delay beyond a time limit.
  bool is_calm() const { return pool.never == 0 && pool.full == 0 && pool.late == 0; }
};

// Makes up a script with faults from the seed.
Script script(std::uint64_t seed);
// Makes up a script without faults from the seed.
Script calm_script(std::uint64_t seed);

}  // namespace toprun::rehearsal
