#pragma once

#include <signal.h>
#include <sys/types.h>

#include <chrono>
#include <span>
#include <string>
#include <vector>

#include "base/process/beat.h"

namespace toprun::spawn {

// A process that survives SIGKILL for this time will never die, because a driver or file server
// hangs. The process is reported and not waited for.
inline constexpr std::chrono::seconds unkillable_limit{15};

// All functions here ignore the commands of base/process/command.h and the processes that these
// commands start.

// Sends `signal` to every process below the calling one except `spared`. Returns the number of
// processes.
int signal_descendants(int signal, pid_t spared = 0);

// Reaps processes until the kernel reports no child. In each iteration, calls `beat` and sends
// `signal` (0: no signal) to every descendant, because a process may fork meanwhile. False: some
// processes are left after `limit`.
bool until_childless(int signal, std::chrono::milliseconds limit, const process::Beat& beat = {});

// Whether there is no process below the calling one, except `spared`.
bool nothing_below_but(pid_t spared);

// Sends `signal` to the descendants that are in one of these process groups and have a handler for
// it. A forked copy, such as a data loader, inherits its rank's handler. The copy receives no
// signal, so that the handler runs once.
void notify_groups(std::span<const pid_t> leaders, int signal);

// Whether the process has a handler for `signal`, according to /proc. Without a handler, most
// signals would kill a process.
bool catches(pid_t pid, int signal);

// Describes a process for a message, from /proc: "4711 (python3, state D in
// nfs_wait_bit_killable)". For a process that was killed and is still there, describes the thread
// that prevents its end.
std::string describe_process(pid_t pid);

// Descriptions of all processes below the calling one except `spared`.
std::vector<std::string> describe_descendants(pid_t spared = 0);

// Makes this process inherit orphans from below it, so that a double fork cannot remove a
// descendant from its control.
void become_subreaper();

}  // namespace toprun::spawn
