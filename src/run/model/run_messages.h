#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "base/text/error.h"
#include "base/text/shared.h"
#include "decide/hang/alarm.h"
#include "decide/hang/standing.h"
#include "decide/ras/status.h"
#include "decide/recorder/summary.h"
#include "machine/fabric/proof.h"
#include "machine/meter/usage.h"
#include "run/model/exit.h"
#include "run/model/messages.h"

namespace toprun::model {

// The messages between the root and its members from the welcome to the end. On the wire each is a
// JSON object with a "type", and most name their attempt. Unknown members are ignored, so that a
// later version may add some.

// member → root, with --stage: this node has its copy of the environment, or will do without.
struct Staged {
  std::chrono::milliseconds took{0};
  std::uint64_t bytes = 0;  // that it has received; the rest was there
  std::string why_not;      // why it has no copy; empty: it has one
};

// member → root: the store is found, the container runs, and it waits for Start.
struct Ready {};

// member → root: the workers run.
struct Started {
  std::optional<int> first_rank;  // as in their environment; unset if the node has no workers
  std::string logs;               // the folder of their files; empty: none are kept
  std::vector<int> pids = {};     // by local rank, in their own PID namespace
  // How long the imports of a warm parent took, if it was started for this attempt.
  std::optional<std::chrono::milliseconds> warmed = {};
};

// member → root: how long it read what its ranks import (--prefetch); it may still do so when they
// run.
struct Prefetched {
  std::chrono::milliseconds took{0};
};

// member → root: the ranks that have come to this node's store. Every age is the time from then to
// this message.
struct Arrivals {
  struct Rank {
    int pid = 0;              // 0: unknown
    std::optional<int> rank;  // if the store knows it
    std::chrono::milliseconds joined_age{0};
    std::optional<std::chrono::milliseconds> met_age;  // unset: not yet
  };
  struct Host {
    std::string address;  // as the store sees it; empty: the store's own host
    std::vector<Rank> ranks;
  };
  std::vector<Host> hosts;
};
// More cannot be connected to a store.
inline constexpr std::size_t most_arrivals = 262'144;

// member → root: all of this node's workers are gone, or it never had any. The age is the time
// since the first client connected to its store.
struct Gone {
  std::optional<std::chrono::milliseconds> first_connect_age;
  std::optional<fabric::NetworkUse> network;  // if its workers' NCCL was observed
};

// member → root: this agent cannot continue, because no process would clean up after it.
struct Orphaned {
  std::string reason;
};

// The step at which a member failed.
enum class Failing {
  taking_part,    // this node is unfit for the job in any attempt
  finding_store,  // the fault may be in the store's node or in the network
  preparing,      // the container, the log folders, the workers
  running,        // the workers run, but must not go on
};

// member → root
struct Failed {
  Failing doing = Failing::preparing;
  Error error;
};

// member → root: it received a signal that ends the run, …
struct Signalled {
  int signal = 0;
};

// … or one that ends only this agent, because the job continues without it, …
struct Leaving {
  int signal = 0;
};

// … or one that asks the run to admit new nodes.
struct AskedToGrow {};

// member → root: none of its ranks has made progress for so long, …
struct RanksStill {
  std::chrono::milliseconds age{0};
  bool some_communicate = false;  // at least one waits for other ranks
};

// … or they have again.
struct RanksMove {};

// member → root: hang::Alarm, a rank's word in the store of this node.

// member → root: where its ranks stand, the answer to LookAtRanks.
struct RanksSeen {
  int look = 0;
  std::vector<hang::Group> groups;
  int more = 0;  // so many RanksTold follow
};

// member → root: what its ranks' flight recorders, or NCCL, have told for a look.
struct RanksTold {
  int look = 0;
  recorder::Summary recorded;
  std::vector<ras::Finding> nccl = {};
};
inline constexpr int most_told = 2;  // for a look

// member → root: what its ranks and its host use, the answer to MeasureRanks.
struct RanksUse {
  meter::Node usage;
};

// Both directions: a signal for the workers of all nodes; the run continues.
struct Notice {
  int signal = 0;
};

// member → root. `attempt`: of the member's latest assignment; unset before the first one.
struct ToRoot {
  std::optional<int> attempt;
  std::variant<Staged, Ready, Started, Prefetched, Arrivals, OutputLines, Shared<WorkerExit>, Gone,
               Orphaned, Failed, Signalled, Leaving, AskedToGrow, RanksStill, RanksMove,
               hang::Alarm, RanksSeen, RanksTold, RanksUse, Notice>
      what;
};

// When a spare may become one of the job's nodes.
enum class Until { a_place_is_free, the_next_restart, all_have_stopped, somebody_asks };
inline constexpr int last_until = static_cast<int>(Until::somebody_asks);

// root → member: it has no place for now, wait.
struct WaitAsSpare {
  Until until = Until::a_place_is_free;
};

// root → member: start the workers of the assigned attempt, unless its assignment said so already.
struct Start {};

// root → member: report where your ranks stand.
struct LookAtRanks {
  int look = 0;          // its number, for the answer
  bool is_hang = false;  // the ranks' flight recorders are asked too
};

// root → member: report what your ranks use. A reader looks at the job.
struct MeasureRanks {};

// root → member: so many bytes of the delivered output are shown.
struct Taken {
  std::size_t bytes = 0;
};

// root → member: end the workers.
struct Stop {
  std::chrono::milliseconds grace{0};  // from SIGTERM to SIGKILL
};

// root → member: pass the signal on to the workers, and kill after the grace.
struct Interrupt {
  int signal = 0;
  std::chrono::milliseconds grace{0};
};

// root → member: the run is over for this member.
struct Finish {
  int exit_code = 0;
  std::string summary;  // the run's last line; empty: the run continues without this member
};

using ToNode = std::variant<WaitAsSpare, Shared<Assignment>, Start, LookAtRanks, MeasureRanks,
                            Taken, Stop, Interrupt, Notice, Finish>;

// Limits for values in messages; a value beyond them makes a message malformed.
inline constexpr std::chrono::milliseconds longest_grace{std::chrono::hours(24 * 365)};
inline constexpr int most_looks = 1'000'000'000;
inline constexpr std::int64_t most_taken_bytes = std::int64_t{1} << 40;
inline constexpr std::int64_t most_staged_bytes = std::int64_t{1} << 50;

nlohmann::json to_wire(const ToRoot& message);
nlohmann::json to_wire(const ToNode& message);
// Parses a message. An error describes the fault. A type that this version does not know gives
// nullopt.
Result<std::optional<ToRoot>> to_root_in(const nlohmann::json& json);
Result<std::optional<ToNode>> to_node_in(const nlohmann::json& json);

}  // namespace toprun::model
