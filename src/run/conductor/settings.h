#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "run/conductor/conductor.h"
#include "run/conductor/grow.h"
#include "run/conductor/on_hang.h"
#include "run/conductor/roster.h"

namespace toprun::run {

inline constexpr std::chrono::seconds farewell_timeout{2};  // from Finish to closed links
// How long a run that ended before all had joined waits for the others, to send them its end.
inline constexpr std::chrono::seconds latecomers_limit{10};
// How long the root's report of the end may take, with its file and its notifications.
inline constexpr std::chrono::seconds telling_limit{60};
// How long the engine may take to report why it ended a run.
inline constexpr std::chrono::seconds engine_limit{5};
inline constexpr std::chrono::seconds report_missing_every{10};
// After so long it is said what the ranks' order is waited for; a stage that is late for any other
// reason says it after report_missing_every. Then both say it again and again.
inline constexpr std::chrono::seconds order_patience{5};
inline constexpr std::chrono::seconds report_again_every{60};
// While nodes are gathered the record tells so long after one has come or left which are here: of a
// launch that is faster, and of thousands that come at once, it needs no other record.
inline constexpr std::chrono::seconds gathering_record_after{1};
// How long a run whose seats are all taken waits for the engine's other nodes, to choose among all.
inline constexpr std::chrono::seconds spares_limit{1};
// So many lines about agents that come, wait as spares, are refused and leave are said in a while.
inline constexpr int most_visitor_lines = 64;
inline constexpr std::chrono::seconds visitor_lines_while{10};
// A wish to grow that reaches several agents at once is answered once.
inline constexpr std::chrono::seconds growth_answers_apart{1};
// How long a rank may take to obey Ctrl-C before its user gets advice.
inline constexpr std::chrono::seconds ctrl_c_reminder_delay{2};
// A member without heartbeats is lost. One with heartbeats may take so long to find the store, …
inline constexpr std::chrono::seconds ready_timeout{60};

// How long the computation of the ranks' order may take, with all that it asks.
inline constexpr std::chrono::seconds arrange_timeout{60};
// From the end of the ranks' grace to the word that none is left: SIGKILL to the death of processes
// that do not die at once (15 s), their last output (2 s) and error files (2 s), a look at the
// network that they used (5 s).
inline constexpr std::chrono::seconds winding_up_limit{20};

// An attempt that fails sooner after its start than this cannot have done any work.
inline constexpr std::chrono::milliseconds instant{1'000};
// With a warm start imports take no time.
inline constexpr std::chrono::milliseconds instant_if_warm{100};

// How long the members may take to tell where their ranks stand. What they ask of the kernel takes
// milliseconds, unless it hangs itself.
inline constexpr std::chrono::milliseconds look_limit{2'000};
// … and those whose ranks' flight recorders listen, in all: PyTorch's watchdog looks at its pipe
// once a second, and then writes.
inline constexpr std::chrono::milliseconds recorded_limit{5'000};
// From the last answer to the verdict that ranks hang.
inline constexpr std::chrono::milliseconds last_objections{100};
// Of it for the recorders themselves.
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
  bool ranks_in_place = false;  // the members are ranks, not nodes' agents
  bool on_one_host = false;
  bool others_come = false;                // more members join by themselves soon
  std::vector<std::string> node_names;     // the engine's list; empty: it has none
  bool each_comes_once = false;            // no agent is started again on any of node_names
  bool names_are_unique = false;           // the engine starts a name again only once it is gone
  std::optional<std::string> master_addr;  // the user's value for the workers
  bool colours = false;                    // the root's terminal shows colours
  bool tells_orders = false;               // -v: report the order and the store's location
  bool several_processes = false;
  std::string stage_key;      // with --stage; empty: without
  std::string order_sources;  // what Arrange asks, for messages
  std::chrono::milliseconds join_timeout{600'000};
  std::chrono::milliseconds last_call{30'000};
  std::chrono::milliseconds arrange_limit{arrange_timeout};
  std::chrono::milliseconds prepare_limit{
      ready_timeout};  // … to start its container or warm parent, or to copy its environment
  std::chrono::milliseconds instant_failure{instant};  // see Restarts
  // A hang is what lasts so long; unset: none is looked for.
  std::optional<std::chrono::milliseconds> hang_timeout;
  OnHang on_hang = OnHang::report;
  // A lost node is noticed within this time.
  std::chrono::milliseconds silence_limit{10'000};
};

}  // namespace toprun::run
