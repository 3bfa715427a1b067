#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/text/clock.h"
#include "run/model/exit.h"
#include "run/model/record.h"

namespace toprun::run {

// How an attempt ended, and why.
struct Verdict {
  int exit_code = 0;
  // Unset: every rank exited with 0. `interrupted`: a signal reached the job, or reached only the
  // agent on `node`, which then left.
  std::optional<model::CauseKind> kind;
  std::string node;
  std::string message;
  std::optional<model::WorkerExit> exit;  // for exit, signal and hang: the rank that failed first
  // For hang: the ranks that did not join a collective. For ended_early: the ranks that had ended.
  std::vector<model::WorkerExit> absent;
  std::string meanwhile;  // for ended_early: what the other ranks did
  // All reported exits. The exits are kept until the next attempt has ended.
  std::vector<model::WorkerExit> exits;
  bool ordered_to_end = false;  // the job must end, regardless of other events
};

// The end times of an attempt's phases; unset for phases that were not reached.
struct Phases {
  SteadyTime began{};
  std::optional<SteadyTime> joined, ordered, staged, spawned, imported, first_connect, last_connect,
      met;
};

// The root's data about an attempt, complete when the attempt is over.
struct AttemptCourse {
  int number = 0;
  WallTime started{};
  std::optional<WallTime> ended;
  Phases phases;
  model::Spreads spreads;
  std::optional<model::Awaited> awaited;
  std::optional<model::Hang> hang;       // the latest
  std::vector<model::NodeRecord> nodes;  // by group rank; empty if no order was computed
  std::optional<model::OrderRecord> order;
  // How the ranks of each node used the network, only for nodes where NCCL's output was read.
  std::vector<fabric::NetworkByHost> networks;
  std::optional<model::Interruption> interrupted;
  std::vector<model::LostNode> lost_nodes;   // at most most_lost_nodes; after the attempt's end
                                             // without verdict.node
  std::vector<model::FailedToo> failed_too;  // set at the attempt's end
  bool started_no_rank = false;              // set at the attempt's end
  Verdict verdict;
};

// The root's data about the whole run. `verdict` is the verdict on the last attempt, without the
// exits.
struct Course {
  WallTime started{};
  WallTime ended{};
  std::vector<AttemptCourse> attempts;  // the latest attempts, without gaps (at most most_recorded)
  int restarts = 0;                     // attempts that followed a failure
  std::vector<model::LostNode> lost_spares;
  Verdict verdict;

  // The attempt with this number, which must be in `attempts`.
  const AttemptCourse& attempt(int number) const {
    return attempts[static_cast<std::size_t>(number - attempts.front().number)];
  }
};

// Only the latest most_recorded attempts are recorded, because a job that runs for weeks may lose
// and gain nodes without a limit.
inline constexpr std::size_t most_recorded = 1'000;
// The nodes are recorded only for the latest most_recorded_with_nodes attempts, because a node
// takes half a kilobyte.
inline constexpr std::size_t most_recorded_with_nodes = 8;

}  // namespace toprun::run
