#pragma once

#include <sys/types.h>

#include <chrono>
#include <functional>
#include <span>
#include <string>

#include "base/text/error.h"

namespace toprun::worker {

// The agent writes a byte to the heartbeat pipe several times in this span; without a byte for the
// whole span it counts as stalled. Time in which the keeper itself did not run (Ctrl-Z, a suspended
// or frozen machine) does not count.
inline constexpr std::chrono::milliseconds keeper_stall_limit{10'000};

// The heartbeat byte that reports that SIGTSTP has stopped the agent's workers. Any byte shows that
// the agent lives.
inline constexpr char beat_of_rest = 's';
// The heartbeat byte that reports that the agent now accepts queued_signal().
inline constexpr char beat_of_queue = 'q';

// The real-time signal that forwards a signal, with the number in its value. Two pending ordinary
// signals of one number merge, and an engine may send the agent the same signal at the same
// moment.
int queued_signal();

// Whether to forward a signal from this sender to the agent. An empty filter forwards all signals.
using SignalFilter = std::function<bool(int signal, pid_t sender)>;

// Runs `agent` in a child process and supervises it from this process, the keeper. The keeper is a
// subreaper with one thread and no network. It
//
// - forwards SIGTERM, SIGUSR1, SIGUSR2, SIGWINCH (which only the terminal's foreground group gets)
//   and `named_signals`, and SIGINT, SIGHUP, SIGQUIT unless they are inherited as ignored (nohup, a
//   shell's background job), unless `concerns_agent` rejects them. The agent leads its own process
//   group, so that a terminal's Ctrl-C reaches it only once;
// - on SIGTSTP (Ctrl-Z) has the agent stop its workers and then stops itself, so that a shell sees
//   a stopped job (in an orphaned process group, which no shell supervises, only the workers
//   stop); the agent and its heartbeats continue. On SIGCONT all continue;
// - when the agent dies or stalls, kills and reaps everything below it, removes the folder that
//   keeper_removes() named and reports it;
// - itself dies only by SIGKILL: then the agent gets SIGTERM.
//
// Call it once, from a process with one thread. `agent` runs with SIGPIPE, SIGXFSZ and SIGTTOU
// ignored and gets the non-blocking write end of the heartbeat pipe; a full pipe is not an error.
// Returns its exit code, or exit_failure if it died or stalled, or 128 + n if a forwarded signal
// killed it. The code that `agent` told (tell_keeper_of_code) counts for more than how it died.
int keep(const std::function<int(int heartbeat_fd)>& agent,
         std::chrono::milliseconds stall_limit = keeper_stall_limit,
         std::span<const int> named_signals = {}, const SignalFilter& concerns_agent = {});

// Called by `agent`: the run is over and reported, this is its exit code, and what follows (the
// process's own end) is not a part of it. The keeper then waits no longer than `ending_limit` for
// that end: a thread in a request to a file server that does not answer survives even SIGKILL.
// Without a keeper it has no effect.
void tell_keeper_of_code(int exit_code);
inline constexpr std::chrono::milliseconds ending_limit{1'000};

// Ends the agent's process at once: writes what was said, tells the keeper the code, and lets go of
// pipes and ports, which a process that cannot end would hold. Also without a keeper.
[[noreturn]] void leave(int exit_code);

// Called by `agent`: names the one folder that the keeper removes with its contents if the agent
// cannot do it any more. Empty: none. Without a keeper it has no effect.
void keeper_removes(const std::string& folder);

// Called by `agent` at a SIGTSTP or SIGCONT: whether SIGTSTP came last. The agent may handle the
// two in the other order. Without a keeper: false.
bool keeper_rests();

// Called by `agent`: other agents know of it now, so they will notice its end.
void tell_keeper_of_joining();
// Called after keep(): how the agent died before it joined, in words; empty if it ended by itself
// or died later.
std::string death_before_joining();

// Called by `agent`: it has lost all agents that could report how the run continues.
void tell_keeper_of_silence();
// Called after keep(): whether the agent called tell_keeper_of_silence().
bool agent_reported_of_silence();

}  // namespace toprun::worker
