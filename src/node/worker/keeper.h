#pragma once

#include <sys/types.h>

#include <chrono>
#include <functional>
#include <span>
#include <string>

#include "base/text/error.h"

namespace toprun::worker {

// The keeper is the agent's parent process. If the agent writes no byte to the heartbeat pipe for
// this time, the keeper treats it as stalled. Normally, the agent writes several bytes within this
// time. The time in which the keeper itself does not run (Ctrl-Z, a suspended or frozen machine)
// does not count.
inline constexpr std::chrono::milliseconds keeper_stall_limit{10'000};

// Any heartbeat byte shows that the agent is alive; this one says nothing else.
inline constexpr char beat_of_life = 'b';
// The agent sends this heartbeat byte when it has stopped its workers after SIGTSTP.
inline constexpr char beat_of_rest = 's';
// The agent sends this heartbeat byte when it can handle the signal queued_signal().
inline constexpr char beat_of_queue = 'q';

// Returns the real-time signal with which the keeper forwards another signal; its value (si_value)
// is the other signal's number. The keeper cannot send the other signal itself, because an engine
// may send it to the agent at the same moment. Two pending signals with the same number merge into
// one.
int queued_signal();

// Decides whether the keeper forwards a signal from this sender to the agent. An empty filter
// forwards all signals.
using SignalFilter = std::function<bool(int signal, pid_t sender)>;

// Runs `agent` in a child process and supervises it from this process, the keeper. The keeper is a
// subreaper with one thread and no network. It
//
// - forwards SIGTERM, SIGUSR1, SIGUSR2, SIGWINCH (which only the terminal's foreground group
//   receives) and `named_signals`. The keeper also forwards SIGINT, SIGHUP and SIGQUIT unless they
//   are inherited as ignored (nohup, a shell's background job). Signals that `concerns_agent`
//   rejects are not forwarded. The agent leads its own process group, so that a terminal's Ctrl-C
//   reaches it only once;
// - on SIGTSTP (Ctrl-Z) makes the agent stop its workers, and then stops the keeper, so that a
//   shell sees a stopped job. In an orphaned process group, which no shell supervises, only the
//   workers stop. The agent itself continues to run and to send heartbeats. On SIGCONT, all
//   continue;
// - if the agent dies or stalls, kills and reaps all processes below it, removes the folder that
//   keeper_removes() named and reports what happened;
// - itself dies only by SIGKILL; the agent then receives SIGTERM.
//
// Call keep() once, from a process with one thread. `agent` runs with SIGPIPE, SIGXFSZ and SIGTTOU
// ignored and receives the non-blocking write end of the heartbeat pipe; a full pipe is not an
// error. Returns the agent's exit code, or exit_failure if it died or stalled, or 128 + n if a
// forwarded signal killed it. If `agent` has called tell_keeper_of_code(), the result is the code
// that `agent` passed, even if the agent died after this call.
int keep(const std::function<int(int heartbeat_fd)>& agent,
         std::chrono::milliseconds stall_limit = keeper_stall_limit,
         std::span<const int> named_signals = {}, const SignalFilter& concerns_agent = {});

// Called by `agent` when the run is over and reported: sends the run's exit code to the keeper. The
// way in which the agent's process ends does not change this exit code. The keeper waits at most
// `ending_limit` for the agent's process to end, because a thread that waits for a hanging file
// server survives even SIGKILL. Has no effect without a keeper.
void tell_keeper_of_code(int exit_code);
inline constexpr std::chrono::milliseconds ending_limit{1'000};

// Ends the agent's process at once. Writes pending messages, sends the exit code to the keeper,
// closes pipes and ports, and exits. Pipes and ports are closed first, because a process that is
// stuck in the kernel cannot exit and would keep them open. Also works without a keeper.
[[noreturn]] void leave(int exit_code);

// Called by `agent`: names the one folder that the keeper removes with its contents if the agent
// cannot remove it any more. Empty: no folder. Has no effect without a keeper.
void keeper_removes(const std::string& folder);

// Called by `agent` after SIGTSTP or SIGCONT. Returns true if the keeper received SIGTSTP after its
// last SIGCONT. The agent has to ask the keeper, because the agent itself may handle the two
// signals in another order. False without a keeper.
bool keeper_rests();

// Called by `agent` once other agents know this agent and will detect its end.
void tell_keeper_of_joining();
// Called after keep(): describes how the agent died before tell_keeper_of_joining(). Empty if the
// agent ended by itself or died later.
std::string death_before_joining();

// Called by `agent` when it has lost the connections to all agents that could report how the run
// continues.
void tell_keeper_of_silence();
// Called after keep(): returns whether the agent had called tell_keeper_of_silence().
bool agent_reported_of_silence();

}  // namespace toprun::worker
