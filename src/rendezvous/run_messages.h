#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <variant>

#include <nlohmann/json_fwd.hpp>

#include "agent/exit.h"
#include "base/error.h"
#include "rendezvous/messages.h"

namespace toprun::rendezvous {

// What the root and its members tell each other from the welcome to the end. On the wire each is a
// JSON object with a "type", and most name their attempt; unknown members are passed over, so that
// a later version may add some.

// member → root: the store is found, the container runs.
struct Ready {};

// member → root: the workers run.
struct Started {
  std::optional<int> first_rank;  // as their environment has it; unset: it has no workers
  std::string logs;               // the folder of their files; empty: none are kept
};

// member → root: all of this node's workers are gone, or there never were any. How long ago the
// first and the last client came to its store.
struct Gone {
  std::optional<std::chrono::milliseconds> first_connect_age;
  std::optional<std::chrono::milliseconds> last_connect_age;
};

// member → root: this agent cannot go on, for nobody would clear up after it.
struct Orphaned {
  std::string reason;
};

// What a member could not do.
enum class Failing {
  taking_part,    // this node is unfit for the job, whatever attempt it is
  finding_store,  // the store's node may be at fault, or the network
  preparing,      // the container, the log folders, the workers
};

// member → root
struct Failed {
  Failing doing = Failing::preparing;
  Error error;
};

// member → root: it got a signal that ends the run, …
struct Signalled {
  int signal = 0;
};

// … or that ends only this agent, because the job goes on without it, …
struct Leaving {
  int signal = 0;
};

// … or that wants newcomers to be taken in.
struct AskedToGrow {};

// Both ways: a signal that is passed on to the workers of all nodes while the run goes on.
struct Notice {
  int signal = 0;
};

// member → root. `attempt`: of the member's latest assignment; unset before it has had any.
struct ToRoot {
  std::optional<int> attempt;
  std::variant<Ready, Started, OutputLines, agent::WorkerExit, Gone, Orphaned, Failed, Signalled,
               Leaving, AskedToGrow, Notice>
      what;
};

// root → member: all places are taken, wait.
struct WaitAsSpare {};

// root → member: start the workers of the attempt that was assigned.
struct Start {};

// root → member: so much of the output that it delivered is shown.
struct Taken {
  std::size_t bytes = 0;
};

// root → member: end the workers.
struct Stop {
  std::chrono::milliseconds grace{0};  // from SIGTERM to SIGKILL
  std::string reason;                  // one line, for this node's user
};

// root → member: pass the signal on to the workers, and kill after the grace.
struct Interrupt {
  int signal = 0;
  std::chrono::milliseconds grace{0};
  std::string reason;
};

// root → member: the run is over.
struct Finish {
  int exit_code = 0;
  std::string summary;  // the run's last line; empty: the run goes on without this member
};

using ToNode = std::variant<WaitAsSpare, Assignment, Start, Taken, Stop, Interrupt, Notice, Finish>;

// Bounds of what a message may say; one beyond them is malformed.
inline constexpr std::chrono::milliseconds longest_grace{std::chrono::hours(24 * 365)};
inline constexpr std::int64_t most_taken_bytes = std::int64_t{1} << 40;

nlohmann::json to_wire(const ToRoot& message);
nlohmann::json to_wire(const ToNode& message);
// An error says what is wrong with it. A type that this version does not know is nullopt.
Result<std::optional<ToRoot>> to_root_in(const nlohmann::json& json);
Result<std::optional<ToNode>> to_node_in(const nlohmann::json& json);

}  // namespace toprun::rendezvous
