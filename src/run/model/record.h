#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "base/text/clock.h"
#include "base/text/outside.h"
#include "machine/fabric/proof.h"
#include "run/model/cause.h"
#include "run/model/hang.h"
#include "run/model/phases.h"

namespace toprun::model {

// A record has the same form at the root, which fills it, and in a program that reads it from a
// --report file (record_in) or from a running job (observe/snapshot/picture.h). A record that was
// read contains less: a missing value stays unset, and a missing time is WallTime{}.

// Returns nullopt for the time WallTime{}, which stands for an unknown time.
inline std::optional<WallTime> if_known(WallTime time) {
  return time == WallTime{} ? std::nullopt : std::optional(time);
}

struct NodeRecord {
  Outside name;
  int group_rank = 0;
  int first_rank = 0;
  int nproc = 0;
  Outside location;   // "/cluster/rack/node"; empty: unknown
  Outside logs = {};  // the folder of its per-rank files; empty: none, or still unknown
};

// The order of the nodes, and how good the order is.
struct OrderRecord {
  std::string name;    // topology, name, scheduler, given, file
  std::string why;     // the reason in words
  std::string source;  // of the facts about the network; empty: none
  struct Level {
    std::string name;
    std::size_t given = 0;    // number of adjacent nodes in the ring that are in different domains,
                              // in the given order
    std::size_t ordered = 0;  // the same number in this order
    std::size_t minimum = 0;  // the same number in the best order
  };
  std::vector<Level> levels;  // outermost first
  std::vector<std::string> unplaced;
  std::vector<std::string> warnings;
  std::vector<std::string> notes = {};  // sources of the network facts, remarks on the order
  bool verified = false;  // every node's workers have the ranks that the plan assigns to it
};

// The last signal that told an attempt's ranks to end.
struct Interruption {
  int signal = 0;
  WallTime at{};
  std::chrono::milliseconds grace{0};  // from the signal until SIGKILL
};

// A node that was lost: a member of an attempt, or a spare.
struct LostNode {
  Outside node;
  WallTime at{};
  Outside why;
};
inline constexpr std::size_t most_lost_nodes = 64;

// Ranks that failed by themselves in the same way; the rank that caused the failure is not
// included.
struct FailedToo {
  std::vector<int> ranks;        // ascending
  std::optional<int> exit_code;  // unset with `signal`: the ranks ended in different ways
  std::optional<int> signal;
  bool lost_peer = false;  // as a consequence: they report only the loss of a peer or of the store
  bool stopped = false;  // toprun stopped them; they had printed an exception before or after that
  Outside message = {};  // the first line of the first rank's exception; empty: none
};
inline constexpr std::size_t most_failed_too = 16;
// A rank that the signal `interrupted_by` killed did not fail by itself; 0: no signal. Returns at
// most most_failed_too elements. If ranks failed in more ways, the last element has all remaining
// ranks that failed by themselves.
std::vector<FailedToo> failed_too(const std::vector<WorkerExit>& exits, std::optional<int> cause,
                                  int interrupted_by);

struct AttemptRecord {
  int attempt = 0;
  WallTime started{};
  std::optional<WallTime> ended;
  Phases phases;
  Spreads spreads;
  std::optional<Awaited> awaited;
  std::optional<Hang> hang;          // the latest
  std::vector<NodeRecord> nodes;     // by group rank; empty before ranks are assigned
  std::optional<OrderRecord> order;  // unset before ranks are assigned
  std::vector<fabric::NetworkByHost> networks =
      {};                      // of the nodes whose workers' NCCL was observed
  std::optional<Cause> cause;  // unset on success
  std::optional<Interruption> interrupted = {};
  std::vector<LostNode> lost_nodes = {};  // except the cause's node; at most most_lost_nodes
  std::vector<FailedToo> failed_too = {};
  bool started_no_rank = false;  // its nodes had ranks, but none was started; not in the JSON form
};

// The state of an attempt that has not begun because it waits for more nodes.
struct Gathering {
  std::vector<Outside> here;          // in the order of joining
  std::vector<std::string> missing;   // nodes in the engine's list; empty: unknown, or none
  std::size_t least = 0, most = 0;    // an attempt begins with `least` to `most` nodes
  std::optional<WallTime> begins_at;  // when the attempt begins without the missing nodes; unset:
                                      // too few have joined
  WallTime ends_at{};                 // when the run ends if too few nodes have joined
};

// An earlier run of the same job, which Slurm requeued after that run.
struct EarlierRun {
  std::optional<WallTime> started, ended, updated;
  std::optional<int> exit_code;  // unset: the run did not report its end
  std::optional<Cause> cause;    // unset on success, or if unknown
};
inline constexpr std::size_t most_earlier_runs = 16;

struct RunRecord {
  Outside job;
  Outside root_host;  // the host of the root agent; its process id follows
  int root_pid = 0;
  // Set if the run is not finished: the time of this snapshot. During the run, exit code and end
  // are unknown.
  std::optional<WallTime> running_at = {};
  int exit_code = 0;
  WallTime started{};
  WallTime ended{};
  std::vector<AttemptRecord> attempts;
  int restarts = 0;  // attempts that followed a failure
  // When the run admits more nodes: a value of --grow. Empty: never. Unset: the --report file does
  // not contain this fact.
  std::optional<Outside> grow = Outside();
  Outside title = {};    // the name that its user chose; empty: none
  Outside program = {};  // the script, module or program
  int max_restarts = 0;
  std::vector<Outside> spares = {};         // nodes that wait as spares now
  std::optional<Gathering> gathering = {};  // while the run waits for nodes
  std::vector<LostNode> lost_spares = {};   // the latest lost spares, at most most_lost_nodes
  std::vector<EarlierRun> earlier = {};     // the oldest first, at most most_earlier_runs
};
// Returns the record of the last attempt. Before the first attempt, the returned record is empty.
const AttemptRecord& last_attempt(const RunRecord& run);
// Returns the run's exit code. Unset while the run goes on, or if the run was killed together with
// its supervisor, the keeper.
std::optional<int> reported_code(const RunRecord& run);
// Returns the time of the record, which is the run's end if the run has ended.
WallTime updated_at(const RunRecord& run);
nlohmann::json order_json(const std::optional<OrderRecord>& order);  // null: it is not known
nlohmann::json spares_json(const RunRecord& run);
nlohmann::json lost_spares_json(const RunRecord& run);

// Returns the nodes in order and the quality of the order, as -v shows them, without line ends.
std::vector<std::string> order_table(const OrderRecord& order,
                                     const std::vector<NodeRecord>& nodes);

inline constexpr std::string_view report_schema = "toprun.report/1";
// Returns the content of the --report file, which has the schema report_schema. `exit_code` and
// `ended` are null during the run.
nlohmann::json report_json(const RunRecord& run);
bool is_report(const nlohmann::json& document);
// Reads a --report file, except orders, networks, and a hang's groups and evidence.
RunRecord record_in(const nlohmann::json& report);
// Reads an attempt from a --report file or from the answer of a running job.
AttemptRecord attempt_in(const nlohmann::json& object);
// Reads the spares and the lost spares from a --report file or a running job's answer.
void read_spares(const nlohmann::json& object, RunRecord& run);
// Returns the earlier runs of a requeued job from `old_report`, the text of the --report file that
// its last run wrote. Empty if the text is not a report.
std::vector<EarlierRun> earlier_runs(std::string_view old_report);

}  // namespace toprun::model
