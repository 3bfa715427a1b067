#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "node/plan/job.h"
#include "run/simulation/timeline.h"

namespace toprun::rehearsal {

using simulation::Dice;
using std::chrono::milliseconds;

enum class FaultKind {
  rank_exits,     // with a code of its own
  rank_killed,    // by a signal that toprun did not send
  agent_dies,     // and its ranks with it
  link_lost,      // both ends hear of it
  ranks_hang,     // one stands still, and the others wait for it
  fails_in_look,  // the same, and it is killed while its root looks at the ranks, which is slow
  fails_unread,   // a rank is killed while the terminal stands, which goes on between two attempts
  places_asked,   // a process asks where the ranks stand
  output_stands,  // the root's terminal takes nothing for a while
  signalled,      // SIGTERM to one agent
  orphaned,       // its keeper was killed
  paused,         // SIGTSTP, and SIGCONT after a while
};
std::string_view name_of(FaultKind kind);

struct Fault {
  FaultKind kind = FaultKind::rank_exits;
  milliseconds at{0};  // since the start
  std::size_t node = 0;
  std::size_t rank = 0;  // its index on the node
  int code = 1;
  milliseconds lasts{0};
};

// What a pool does with its work, in percent of the calls.
struct PoolFaults {
  int late = 0;   // answered after up to `latest`
  int never = 0;  // not answered
  int full = 0;   // not taken
  milliseconds latest{30'000};
};

// One run; the seed determines all values.
struct Script {
  std::uint64_t seed = 0;
  std::vector<std::shared_ptr<const plan::Job>> jobs;  // by node; the first is the root's
  milliseconds work{0};                                // a rank's run time without faults
  int lines = 0;                                       // that each rank prints
  int stubborn_percent = 0;                            // of the ranks: they ignore SIGTERM
  milliseconds slowest_message{5};
  PoolFaults pool;
  int ras_percent = 0;  // of the looks: NCCL's RAS thread listens
  std::vector<Fault> faults;

  // Nothing happens that may fail the run or delay it beyond a limit.
  bool is_calm() const { return pool.never == 0 && pool.full == 0 && pool.late == 0; }
};

Script script(std::uint64_t seed);
// … without faults.
Script calm_script(std::uint64_t seed);

}  // namespace toprun::rehearsal
