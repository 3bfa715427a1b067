#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "run/conductor/conductor.h"
#include "run/conductor/roster.h"

namespace toprun::run {

// What the root does about a hang. It only reports the hang, ends the attempt (which counts for
// --max-restarts), or ends the run.
enum class OnHang { report, restart, abort };

inline constexpr std::chrono::seconds farewell_timeout{2};  // from Finish until the links close
// If a run ends before all nodes have joined, the run waits at most latecomers_limit for the
// missing nodes, to report the end to these nodes.
inline constexpr std::chrono::seconds latecomers_limit{10};
// How long the root may take to report the end, including the --report file and notifications.
inline constexpr std::chrono::seconds telling_limit{60};
// How long the engine may take to tell the root why it ended the run.
inline constexpr std::chrono::seconds engine_limit{5};
// While nodes are missing, the first message appears after report_missing_every; each further pause
// is twice as long, up to report_again_every. When a node joins or leaves, the pauses start again
// with the shortest.
inline constexpr std::chrono::seconds report_missing_every{10};
// A wait for more nodes is reported only if it takes at least this long. A shorter wait is over
// before the user has read the message.
inline constexpr std::chrono::seconds least_told_wait{1};
// If the computation of the ranks' order takes longer than order_patience, a message says what the
// run waits for. If a stage of the run takes long for another reason, a message follows after
// report_missing_every. Both messages are repeated every report_again_every.
inline constexpr std::chrono::seconds order_patience{5};
inline constexpr std::chrono::seconds report_again_every{60};
// While nodes join, a record with the present nodes is written this long after a node has joined or
// left. So a fast launch, or thousands of nodes at once, cause no extra records.
inline constexpr std::chrono::seconds gathering_record_after{1};
// How long a run that has enough nodes waits for the engine's spare nodes. Then the run chooses its
// members among all nodes, spares included.
inline constexpr std::chrono::seconds spares_limit{1};
// The maximum number of lines about agents that are printed per period of visitor_lines_while. The
// lines say that an agent joins, waits as a spare, is refused or leaves.
inline constexpr int most_visitor_lines = 64;
inline constexpr std::chrono::seconds visitor_lines_while{10};
// The minimum time between two answers to requests to grow. So a request that reaches several
// agents at once is answered only once.
inline constexpr std::chrono::seconds growth_answers_apart{1};
// How long a rank may take to obey Ctrl-C before the user gets advice.
inline constexpr std::chrono::seconds ctrl_c_reminder_delay{2};
// How long a member that sends heartbeats may take to find the ranks' store. A member without
// heartbeats counts as lost.
inline constexpr std::chrono::seconds ready_timeout{60};

// Time limit for computing the ranks' order, including all queries.
inline constexpr std::chrono::seconds arrange_timeout{60};
// How long after the ranks' grace period a member may take to report their end. This is enough for
// SIGKILL and the death of processes that do not die at once (15 s), their last output (2 s), their
// error files (2 s), and a check of the network that they used (5 s).
inline constexpr std::chrono::seconds winding_up_limit{20};

// An attempt that fails within the time `instant` after its start cannot have done any work.
inline constexpr std::chrono::milliseconds instant{1'000};
// The limit that replaces `instant` after a warm start, in which imports take no time.
inline constexpr std::chrono::milliseconds instant_if_warm{100};

// How long the members may take to report where their ranks are. Their queries to the kernel take
// milliseconds, unless the kernel itself hangs.
inline constexpr std::chrono::milliseconds look_limit{2'000};
// How long the members may take in total if their ranks' flight recorders respond. PyTorch's
// watchdog looks for a dump request in its pipe once a second, and then writes the dump.
inline constexpr std::chrono::milliseconds recorded_limit{5'000};
// How long to wait after the last member's answer before a hang is reported. Until then a rank may
// still report progress.
inline constexpr std::chrono::milliseconds hang_confirm_delay{100};
// Within recorded_limit, a node waits this long for the flight recorders of its own ranks.
inline constexpr std::chrono::milliseconds recorders_limit{3'500};

// The coordinator's settings for a job.
struct Settings {
  Size size;
  bool elastic = false;  // the job continues without a node that leaves
  int max_restarts = 0;
  Grace grace;
  EndedWell ended_well = EndedWell::done;
  Grow grow = Grow::at_restart;
  std::string how_to_grow;  // the command that admits newcomers
  std::string run_id;
  bool ranks_in_place = false;  // the engine started the ranks, so each member is a rank
  bool on_one_host = false;
  bool others_come = false;             // more members will soon join by themselves
  std::vector<std::string> node_names;  // the engine's list; empty: there is no list
  bool each_comes_once = false;         // each node in node_names gets an agent only once
  // True if the engine starts a second agent with a node's name only after the first one is gone.
  bool names_are_unique = false;
  std::optional<std::string> master_addr;  // MASTER_ADDR for the workers, if the user set it
  bool colours = false;                    // the root's terminal shows colours
  bool tells_orders = false;               // -v: report the order and the store's location
  bool several_processes = false;
  std::string stage_key;      // the key of the copy with --stage; empty: without --stage
  std::string order_sources;  // what Arrange queries for the order, for messages
  std::chrono::milliseconds join_timeout{600'000};
  bool is_met_on_this_host_only = false;  // the endpoint is localhost or a loopback address
  std::chrono::milliseconds last_call{30'000};
  std::chrono::milliseconds arrange_limit{arrange_timeout};
  std::chrono::milliseconds prepare_limit{
      ready_timeout};  // how long a member may take to start its container or warm parent, or to
                       // copy its environment
  std::chrono::milliseconds instant_failure{instant};  // see Restarts
  // A lack of progress for this long is a hang. Unset: hangs are not detected.
  std::optional<std::chrono::milliseconds> hang_timeout;
  OnHang on_hang = OnHang::report;
  bool evicts = false;  // a node whose machine is at fault leaves if another can take its place
  // A lost node is detected within this time.
  std::chrono::milliseconds silence_limit{10'000};
};

}  // namespace toprun::run
