#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "run/conductor.h"
#include "run/grow.h"
#include "run/roster.h"

namespace toprun::run {

inline constexpr std::chrono::seconds farewell_timeout{2};  // finish sent → links closed
// How long a run that ended before all had come waits for the others, to tell them so.
inline constexpr std::chrono::seconds latecomers_limit{10};
// How long the engine may take to say why it ended a run.
inline constexpr std::chrono::seconds engine_limit{5};
inline constexpr std::chrono::seconds report_missing_every{10};
// How long a rank may take to obey Ctrl-C before its user is told how to go on.
inline constexpr std::chrono::seconds patience_with_ctrl_c{2};
// A member that answers nothing is lost by its heartbeat. One that lives may take so long to find
// the store, …
inline constexpr std::chrono::seconds ready_timeout{60};

// All that the coordinator knows of a job beside what happens.
struct Settings {
  Size size;
  bool elastic = false;  // the job goes on without a node that leaves
  int max_restarts = 0;
  Grace grace;
  EndedWell ended_well = EndedWell::done;
  Grow grow = Grow::at_restart;
  std::string how_to_grow;  // the command that takes newcomers in
  std::string run_id;
  bool ranks_in_place = false;  // the members are ranks, not nodes' agents
  bool on_one_host = false;
  bool others_come = false;                // by themselves, and soon
  std::vector<std::string> node_names;     // the engine's list; empty: it has none
  std::optional<std::string> master_addr;  // what the user wants the workers to get
  bool colours = false;                    // the root's terminal shows them
  bool tells_orders = false;               // -v: the order, where the store is
  bool several_processes = false;
  std::chrono::milliseconds join_timeout{600'000};
  std::chrono::milliseconds last_call{30'000};
  std::chrono::milliseconds prepare_limit{ready_timeout};  // … or for its container to come up
  // After this a node that is gone has been noticed.
  std::chrono::milliseconds silence_limit{10'000};
};

}  // namespace toprun::run
