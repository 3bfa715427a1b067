#pragma once

#include <sys/types.h>

#include <chrono>
#include <functional>
#include <span>
#include <string>

#include "base/error.h"

namespace toprun::agent {

// The agent writes a byte to the heartbeat pipe several times in this span and counts as stalled
// after so long without one. Time in which the keeper itself did not run
// (Ctrl-Z, a suspended or frozen machine) does not count.
inline constexpr std::chrono::milliseconds keeper_stall_limit{10'000};

// The byte by which the agent says that its workers are stopped, as SIGTSTP asked for; any other
// only says that it lives.
inline constexpr char beat_of_rest = 's';
// … that it takes signals by queued_signal() from now on.
inline constexpr char beat_of_queue = 'q';

// By this real-time signal, with the number in its value, the keeper passes a signal on: two of one
// ordinary number become one, and an engine may send the agent the same at the same moment.
int queued_signal();

// Whether the agent is to hear of a signal that this process sent. Empty: of all.
using SignalFilter = std::function<bool(int signal, pid_t sender)>;

// Runs `agent` in a child process and keeps watch over it from this one, the keeper: a subreaper
// with one thread and no network, which
//
// - forwards SIGTERM, SIGUSR1, SIGUSR2, SIGWINCH (which only the terminal's foreground group gets)
//   and `named_signals`, and SIGINT, SIGHUP, SIGQUIT unless they are inherited as ignored (nohup, a
//   shell's background job), as far as `concerns_agent` lets them pass. The agent leads a process
//   group of its own, so that a terminal's Ctrl-C reaches it once;
// - on SIGTSTP (Ctrl-Z) has the agent stop its workers and then stops itself, so that a shell sees
//   a stopped job (in an orphaned process group, which no shell looks after, only the workers
//   stop); the agent lives on and its beats with it. On SIGCONT all go on;
// - when the agent dies or stalls, kills and reaps everything below it, removes what
//   keeper_removes() named and says so;
// - dies itself only by SIGKILL: then the agent gets SIGTERM.
//
// Call it from a process with one thread, once. `agent` runs with SIGPIPE, SIGXFSZ and SIGTTOU
// ignored and gets the non-blocking write end of the heartbeat pipe; a full pipe is no error.
// Returns its exit code, or exit_failure if it died or stalled, or 128 + n if a signal that was
// passed on killed it.
int keep(const std::function<int(int heartbeat_fd)>& agent,
         std::chrono::milliseconds stall_limit = keeper_stall_limit,
         std::span<const int> named_signals = {}, const SignalFilter& concerns_agent = {});

// From inside `agent`: names the one folder that the keeper removes, with all in it, if the agent
// cannot do it any more. Empty: none. Without a keeper it does nothing.
void keeper_removes(const std::string& folder);

// From inside `agent`, at a SIGTSTP or SIGCONT: whether SIGTSTP was the later of the two, which the
// order in which the agent takes them does not tell. Without a keeper: false.
bool keeper_rests();

// From inside `agent`: the others know of it, and so of its end.
void tell_keeper_of_joining();
// After keep(): how the agent died before that, in words; empty if it ended by itself, or later.
std::string death_before_joining();

// From inside `agent`: nobody that it knows tells it any more how the run goes on.
void tell_keeper_of_silence();
// After keep(): whether the agent said so.
bool agent_told_of_silence();

}  // namespace toprun::agent
