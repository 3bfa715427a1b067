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

struct NodeRecord {
  Outside name;
  int group_rank = 0;
  int first_rank = 0;
  int nproc = 0;
  Outside location;   // "/cluster/rack/node"; empty: unknown
  Outside logs = {};  // the folder of its per-rank files; empty: none, or not known yet
};

// The order of the nodes and its quality.
struct OrderRecord {
  std::string name;    // topology, name, scheduler, given, file
  std::string why;     // the reason in words
  std::string source;  // of the evidence; empty: none
  struct Level {
    std::string name;
    std::size_t given = 0;    // ring neighbours in different domains: in the given order
    std::size_t ordered = 0;  // … in this order
    std::size_t minimum = 0;  // … in the best order
  };
  std::vector<Level> levels;  // outermost first
  std::vector<std::string> unplaced;
  std::vector<std::string> warnings;
  std::vector<std::string> notes = {};  // sources of the network's facts, quality of the order
  bool verified = false;  // every node's workers have the ranks that the plan assigns to it
};

// A signal that told the ranks to end; the last of an attempt.
struct Interruption {
  int signal = 0;
  WallTime at{};
  std::chrono::milliseconds grace{0};  // from then until SIGKILL
};

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
};

// The nodes of an attempt that has not begun, because more have to come or may.
struct Gathering {
  std::vector<Outside> here;          // in the order of joining
  std::vector<std::string> missing;   // of the engine's list; empty: unknown, or none
  std::size_t least = 0, most = 0;    // so many begin
  std::optional<WallTime> begins_at;  // without the others; unset: there are too few
  WallTime ends_at{};                 // the run, if there are too few until then
};

// A node that waited as a spare, or was to, and is gone.
struct LostSpare {
  Outside node;
  WallTime at{};
  Outside why;
};
inline constexpr std::size_t most_lost_spares = 64;

struct RunRecord {
  std::string job;
  std::string root_host;  // the host of the root agent; its process id follows
  int root_pid = 0;
  // Set if the run is not finished: the time of this snapshot. Exit code and end are unknown then.
  std::optional<WallTime> running_at = {};
  int exit_code = 0;
  WallTime started{};
  WallTime ended{};
  std::vector<AttemptRecord> attempts;
  int restarts = 0;          // attempts that followed a failure
  std::string grow = {};     // when it takes in more nodes, as --grow has it; empty: never
  std::string title = {};    // the name that its user chose; empty: none
  std::string program = {};  // the script, module or program
  int max_restarts = 0;
  std::vector<Outside> spares = {};         // nodes that wait now
  std::optional<Gathering> gathering = {};  // while nodes are awaited
  std::vector<LostSpare> lost_spares = {};  // the last ones, most_lost_spares at most
};
nlohmann::json spares_json(const RunRecord& run);
nlohmann::json lost_spares_json(const RunRecord& run);

inline constexpr std::size_t most_earlier_runs = 16;
// What a report keeps of the runs before it of the same job, which Slurm has requeued: the latest
// ones, from the report that the last of them left. An empty list if that is not a report.
nlohmann::json earlier_runs(std::string_view old_report);

// The nodes in their order and its quality, as shown by -v: lines without line ends.
std::vector<std::string> order_table(const OrderRecord& order,
                                     const std::vector<NodeRecord>& nodes);

inline constexpr std::string_view report_schema = "toprun.report/1";
// The content of the --report file: of that schema. `exit_code` and `ended` are null during
// the run.
nlohmann::json report_json(const RunRecord& run);

}  // namespace toprun::model
