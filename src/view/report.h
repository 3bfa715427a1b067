#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "agent/exit.h"
#include "base/clock.h"
#include "base/look.h"
#include "fabric/proof.h"

namespace toprun::view {

// Why an attempt ended otherwise than with all ranks at 0.
enum class CauseKind {
  exit,          // a rank ended with another code than 0
  signal,        // a rank was killed by a signal that we did not send
  node_lost,     // a node no longer answers
  agent_lost,    // a node's agent died
  join_timeout,  // not all nodes came
  refused,       // another version, secret, job …
  interrupted,   // by the user's or the scheduler's signal
  preempted,     // the scheduler said so
  time_limit,    // so did it here
  hang,          // ranks timed out in a collective, to which others did not come
  launcher,      // anything else that is toprun's own
  grown,         // stopped to take in more nodes
};

// The name in JSON: "exit", "node_lost" …
std::string_view name_of(CauseKind kind);

struct Cause {
  CauseKind kind = CauseKind::launcher;
  std::optional<int> rank;
  std::optional<int> local_rank;
  std::optional<int> pid;
  std::string program;  // argv[0] of the rank
  std::string node;     // empty: no single one
  std::optional<int> exit_code;
  std::optional<int> signal;
  std::string message;     // an exception's or error file's, or toprun's own reason
  std::string error_file;  // path; empty: none
  std::vector<std::string> last_output;
  std::string kernel_evidence;  // of the out-of-memory killer; empty: none
};

// A worker's exit as a cause of kind exit or signal.
Cause cause_of(const agent::WorkerExit& exit);

struct NodeRecord {
  std::string name;
  int group_rank = 0;
  int first_rank = 0;
  int nproc = 0;
  std::string location;   // "/cluster/rack/node"; empty: unknown
  std::string logs = {};  // the folder of its per-rank files; empty: none are kept, or not told yet
};

// Which order the nodes were given and what it is worth.
struct OrderRecord {
  std::string name;    // topology, name, scheduler, given, file
  std::string why;     // in words
  std::string source;  // of the evidence; empty: there is none
  struct Level {
    std::string name;
    std::size_t given = 0;    // neighbours in the ring that leave a domain: as the nodes came
    std::size_t ordered = 0;  // … and in this order
    std::size_t minimum = 0;  // … at least
  };
  std::vector<Level> levels;  // outermost first
  std::vector<std::string> unplaced;
  std::vector<std::string> warnings;
  std::vector<std::string> notes = {};  // who told what of the network, what an order is worth
  bool verified = false;  // every node's workers got the ranks that were planned for it
};

// How long after the attempt's start each phase was complete; unset: not reached.
struct Phases {
  std::optional<std::chrono::milliseconds> join;
  std::optional<std::chrono::milliseconds> order;
  std::optional<std::chrono::milliseconds> spawn;
  std::optional<std::chrono::milliseconds> first_connect;
  std::optional<std::chrono::milliseconds> last_connect;
};

struct AttemptRecord {
  int attempt = 0;
  WallTime started{};
  std::optional<WallTime> ended;
  Phases phases;
  std::vector<NodeRecord> nodes;     // by group rank; empty before they are assigned
  std::optional<OrderRecord> order;  // unset before they are assigned
  std::vector<fabric::NetworkByHost> networks =
      {};                      // of the nodes whose workers' NCCL was observed
  std::optional<Cause> cause;  // unset on success
};

struct RunRecord {
  std::string job;
  std::string root_host;  // where the root agent runs, and its process there
  int root_pid = 0;
  // The run goes on, and this is how it was then: its exit code and end are not known.
  std::optional<WallTime> running_at = {};
  int exit_code = 0;
  WallTime started{};
  WallTime ended{};
  std::vector<AttemptRecord> attempts;
  int restarts = 0;  // attempts that followed a failure
};

// The nodes in their order and what that is worth, as -v shows it: lines without line ends.
std::vector<std::string> order_table(const OrderRecord& order,
                                     const std::vector<NodeRecord>& nodes);

// What --report writes: schema toprun.report/1. `exit_code` and `ended` are null while it runs.
nlohmann::json report_json(const RunRecord& run);

// How the other ranks ended.
struct Others {
  int failed = 0;   // by themselves, after the cause
  int stopped = 0;  // by us
  int ended = 0;    // with 0
};

// `cause` is one of `exits` or null.
Others count_others(const std::vector<agent::WorkerExit>& exits, const agent::WorkerExit* cause);

// What the user reads when a run failed: who, what it said, what became of the others, where the
// logs are, what to do next. At most 25 lines, the first starting with "toprun: ", on a terminal
// cut to its width, elsewhere whole. `logs` is the folder of the cause's rank on its node,
// `node_log` the file of all that its node has shown; empty: none is kept.
std::string failure_report(const Cause& cause, const Others& others, const std::string& logs,
                           const Look& look, const std::string& node_log = {});

// The last line of every run, with a line end: start and end in local time, duration, ranks × nodes
// of the last attempt, outcome.
std::string last_line(const RunRecord& run);

}  // namespace toprun::view
