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

// The messages between the root and its members, from the welcome to the end of the run. On the
// wire each message is a JSON object with a "type". Most messages name their attempt. Unknown
// members are ignored, so that a later version may add members.

// member → root, with --stage: this node has copied the Python environment, or continues without a
// copy.
struct Staged {
  std::chrono::milliseconds took{0};
  std::uint64_t bytes = 0;  // bytes that the node received; the node already had the rest
  std::string why_not;      // why the node has no copy; empty: the node has a copy
};

// member → root: the store is found and the container runs; the member waits for Start.
struct Ready {};

// member → root: the workers run.
struct Started {
  std::optional<int> first_rank;  // the same value as in the workers' environment; unset if the
                                  // node has no workers
  std::string logs;               // the folder with their log files; empty: there are none
  std::vector<int> pids = {};     // by local rank, in their own PID namespace
  // How long the imports of the warm parent (the process that forks the ranks) took. Unset: no warm
  // parent was started for this attempt.
  std::optional<std::chrono::milliseconds> warmed = {};
};

// member → root: how long this node took to read the files that its ranks import (--prefetch). The
// node may still read while the ranks run.
struct Prefetched {
  std::chrono::milliseconds took{0};
};

// member → root: the ranks that have reached this node's store. Each age is the time from the
// arrival to this message.
struct Arrivals {
  struct Rank {
    int pid = 0;              // 0: unknown
    std::optional<int> rank;  // the rank, if the store knows it
    std::chrono::milliseconds joined_age{0};
    std::optional<std::chrono::milliseconds> met_age;  // since the process reached its first
                                                       // collective; unset: it has not
  };
  struct Host {
    std::string address;  // as the store sees it; empty: the store's own host
    std::vector<Rank> ranks;
  };
  std::vector<Host> hosts;
};
// The maximum number of connections of a store.
inline constexpr std::size_t most_arrivals = 262'144;

// member → root: all of this node's workers have ended, or the node never had any. The age is the
// time since the first client connected to the node's store.
struct Gone {
  std::optional<std::chrono::milliseconds> first_connect_age;
  std::optional<fabric::NetworkUse> network;  // the network that the workers used, if NCCL's output
                                              // was read
};

// member → root: this agent must stop, because its keeper, which would clean up after it, is gone.
struct Orphaned {
  std::string reason;
};

// The step at which a member failed.
enum class Failing {
  taking_part,    // this node is unfit for every attempt of the job
  finding_store,  // the node does not find the store; the fault may be in the store's node or in
                  // the network
  preparing,      // the container, the log folders or the workers do not start
  running,        // the workers run, but must not continue
};

// member → root
struct Failed {
  Failing doing = Failing::preparing;
  Error error;
};

// member → root: the agent received a signal that ends the run.
struct Signalled {
  int signal = 0;
};

// member → root: the agent received a signal that ends only this agent, because the job continues
// without it.
struct Leaving {
  int signal = 0;
};

// member → root: the agent received the signal that asks the run to admit new nodes.
struct AskedToGrow {};

// member → root: none of the member's ranks has made progress for the time `age`.
struct RanksStill {
  std::chrono::milliseconds age{0};
  bool some_communicate = false;  // at least one waits for other ranks
};

// member → root: the member's ranks make progress again.
struct RanksMove {};

// member → root: hang::Alarm, a rank's message in this node's store.

// member → root: the answer to LookAtRanks: where the member's ranks are in their code.
struct RanksSeen {
  int look = 0;  // as in LookAtRanks
  std::vector<hang::Group> groups;
  int more = 0;  // the number of RanksReported messages that follow
};

// member → root: what flight recorders or NCCL reported about the member's ranks, as a further
// answer to LookAtRanks.
struct RanksReported {
  int look = 0;  // as in LookAtRanks
  recorder::Summary recorded;
  std::vector<ras::Finding> nccl = {};
};
inline constexpr int most_reported = 2;  // for each LookAtRanks

// member → root: the answer to MeasureRanks, with the resource use of its ranks and its host.
struct RanksUse {
  meter::Node usage;
};

// Both directions: a signal for the workers of all nodes; the run continues.
struct Notice {
  int signal = 0;
};

// member → root. `attempt` is the attempt of the member's latest assignment; unset until the first
// assignment.
struct ToRoot {
  std::optional<int> attempt;
  std::variant<Staged, Ready, Started, Prefetched, Arrivals, OutputLines, Shared<WorkerExit>, Gone,
               Orphaned, Failed, Signalled, Leaving, AskedToGrow, RanksStill, RanksMove,
               hang::Alarm, RanksSeen, RanksReported, RanksUse, Notice>
      what;
};

// When a spare may become one of the job's nodes.
enum class Until { a_place_is_free, the_next_restart, all_have_stopped, somebody_asks };
inline constexpr int last_until = static_cast<int>(Until::somebody_asks);

// root → member: do not take part now, but wait as a spare.
struct WaitAsSpare {
  Until until = Until::a_place_is_free;
};

// root → member: start the assigned attempt's workers. Not sent if the assignment contained
// `start`.
struct Start {};

// root → member: report where your ranks are in their code.
struct LookAtRanks {
  int look = 0;          // the number of this query, which the answers repeat
  bool is_hang = false;  // also ask the ranks' flight recorders
};

// root → member: report the resource use of your ranks, because a user watches the job.
struct MeasureRanks {};

// root → member: this many bytes of the delivered output have been shown.
struct Taken {
  std::size_t bytes = 0;
};

// root → member: end the workers.
struct Stop {
  std::chrono::milliseconds grace{0};  // from SIGTERM to SIGKILL
};

// root → member: forward the signal to the workers, and kill them after the grace period.
struct Interrupt {
  int signal = 0;
  std::chrono::milliseconds grace{0};
};

// root → member: the run is over for this member.
struct Finish {
  int exit_code = 0;
  std::string summary;   // the run's last line; empty: the run continues without this member
  std::string why = {};  // why the run continues without this member, if the root says so
};

using ToNode = std::variant<WaitAsSpare, Shared<Assignment>, Start, LookAtRanks, MeasureRanks,
                            Taken, Stop, Interrupt, Notice, Finish>;

// Limits for values in messages. A message that contains a value outside these limits is malformed.
inline constexpr std::chrono::milliseconds longest_grace{std::chrono::hours(24 * 365)};
inline constexpr int most_looks = 1'000'000'000;
inline constexpr std::int64_t most_taken_bytes = std::int64_t{1} << 40;
inline constexpr std::int64_t most_staged_bytes = std::int64_t{1} << 50;

nlohmann::json to_wire(const ToRoot& message);
nlohmann::json to_wire(const ToNode& message);
// Parses a message. The error describes what is wrong. nullopt: this version does not know the
// message's type.
Result<std::optional<ToRoot>> to_root_in(const nlohmann::json& json);
Result<std::optional<ToNode>> to_node_in(const nlohmann::json& json);

}  // namespace toprun::model
