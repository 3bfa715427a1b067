#pragma once

#include <signal.h>
#include <sys/types.h>

#include <chrono>
#include <span>
#include <string>
#include <vector>

#include "base/process/frames.h"

namespace toprun::spawn {

// If a process survives SIGKILL for this time, it will not die, because a driver or file server
// hangs. After this time, toprun reports the process and no longer waits for it.
inline constexpr std::chrono::seconds unkillable_limit{15};

// All functions here ignore commands that base/process/command.h has started, and their child
// processes.

// Sends `signal` to every process below the calling process except `spared`. Returns the number of
// processes.
int signal_descendants(int signal, pid_t spared = 0);

// Reaps processes until the kernel reports no child. In each iteration, calls `beat` and sends
// `signal` (0: no signal) to every descendant, because a process may fork meanwhile. False: some
// processes are left after `limit`.
bool until_childless(int signal, std::chrono::milliseconds limit, const process::Beat& beat = {});

// Whether there is no process below the calling process, except `spared`.
bool nothing_below_but(pid_t spared);

// Sends `signal` to the descendants that are in one of these process groups and have a handler for
// this signal. A forked copy of a rank, such as a data loader, has inherited the rank's handler.
// Such a copy receives no signal, so that the handler runs only once.
void notify_groups(std::span<const pid_t> leaders, int signal);

// Whether the process has a handler for `signal`, according to /proc. Without a handler, most
// signals would kill a process.
bool catches(pid_t pid, int signal);

// Describes a process for a message, from /proc: "4711 (python3, state D in
// nfs_wait_bit_killable)". If the process was killed and still exists, describes the thread that
// prevents its end.
std::string describe_process(pid_t pid);

// Descriptions of all processes below the calling process except `spared`.
std::vector<std::string> describe_descendants(pid_t spared = 0);

// From now on, orphaned descendants become children of this process. So a descendant cannot escape
// by a double fork.
void become_subreaper();

// Whether the kernel lets this process be one. Emulators and sandboxes may not.
bool is_subreaper();

}  // namespace toprun::spawn
