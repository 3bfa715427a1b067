#pragma once

#include <signal.h>
#include <sys/types.h>

#include <chrono>
#include <span>
#include <string>
#include <vector>

#include "base/process/beat.h"

namespace toprun::spawn {

// A process that survives SIGKILL for so long will never die (a driver or file server hangs): it is
// reported and given up.
inline constexpr std::chrono::seconds unkillable_limit{15};

// In all of these, the commands of base/process/command.h and what they start do not count.

// Sends `signal` to every process below the calling one but for `spared`. Returns the number of
// processes.
int signal_descendants(int signal, pid_t spared = 0);

// Reaps until the kernel reports no child, and sends `signal` (0: none) to every descendant in each
// turn, because a process may fork meanwhile. Calls `beat` in each turn. False: some are left after
// `limit`.
bool until_childless(int signal, std::chrono::milliseconds limit, const process::Beat& beat = {});

// Whether no process is below the calling one, except `spared`.
bool nothing_below_but(pid_t spared);

// Sends `signal` to the descendants that are in one of these process groups and have a handler for
// it. A forked copy such as a data loader inherits its rank's handler; it gets no signal, so that
// the handler runs once.
void notify_groups(std::span<const pid_t> leaders, int signal);

// Whether the process has a handler for `signal`, according to /proc. Most signals would end a
// process without one.
bool catches(pid_t pid, int signal);

// Describes a process for a message, from /proc: "4711 (python3, state D in
// nfs_wait_bit_killable)". Of one that is killed and not gone, the thread that holds it.
std::string describe_process(pid_t pid);

// Descriptions of all processes below the calling one but for `spared`.
std::vector<std::string> describe_descendants(pid_t spared = 0);

// Makes this process inherit orphans from below it, so that a descendant cannot escape by a double
// fork.
void become_subreaper();

}  // namespace toprun::spawn
