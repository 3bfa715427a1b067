#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "base/text/outside.h"
#include "run/model/exit.h"

namespace toprun::model {

// The reason why an attempt did not end with all ranks at exit code 0.
enum class CauseKind {
  exit,          // a rank ended with an exit code other than 0
  signal,        // a signal that we did not send killed a rank
  node_lost,     // a node no longer answers
  agent_lost,    // a node's agent died
  join_timeout,  // too few nodes joined
  refused,       // a different version, secret, job …
  interrupted,   // by the user's or the scheduler's signal
  preempted,     // reported by the scheduler
  time_limit,    // reported by the scheduler
  hang,          // ranks timed out in a collective because other ranks did not reach it
  launcher,      // any other error of toprun itself
  grown,         // stopped to add more nodes
  ended_early,   // ranks ended with 0 while others still needed them
  requeued,      // reported by the scheduler: back in its queue, and not for another job
};

// The name in JSON: "exit", "node_lost" …
std::string_view name_of(CauseKind kind);
// nullopt: there is no such kind, or none in this version.
std::optional<CauseKind> cause_kind_called(std::string_view name);

struct Cause {
  CauseKind kind = CauseKind::launcher;
  std::optional<int> rank;
  std::optional<int> local_rank;
  std::optional<int> pid;
  Outside program;  // argv[0] of the rank
  Outside node;     // empty: no single node
  std::optional<int> exit_code;
  std::optional<int> signal;
  Outside meanwhile;   // of ended_early: "2 ranks still called all_reduce"
  Outside message;     // from an exception, an error file or toprun itself
  Outside error_file;  // path; empty: none
  std::vector<Outside> last_output;
  Outside kernel_evidence;  // from the out-of-memory killer; empty: none
};

// A short description of the cause, without its message: "rank 3 on n1 ended with exit code 7".
std::string sentence(const Cause& cause);
// The same with the run's exit code, unless the sentence has it already.
std::string sentence_with_code(const Cause& cause, int exit_code);
// " on n4"; empty: no single node.
std::string on(const Outside& node);
nlohmann::json cause_json(const Cause& cause);

// Converts a worker's exit to a cause of kind exit or signal.
Cause cause_of(const WorkerExit& exit);

}  // namespace toprun::model
