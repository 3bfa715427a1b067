#pragma once

#include <signal.h>
#include <sys/types.h>

#include <chrono>
#include <span>
#include <string>
#include <vector>

#include "base/process/frames.h"

namespace toprun::spawn {

// How long toprun waits for the death of a process after SIGKILL before it only reports the
// process. A process that survives for this time will not die, because a driver or file server
// hangs.
inline constexpr std::chrono::seconds unkillable_limit{15};

// All functions here ignore commands that base/process/command.h has started, and their child
// processes.

// Sends `signal` to every process below the calling process except `spared`. Returns the number of
// processes.
int signal_descendants(int signal, pid_t spared = 0);

// Reaps processes until the kernel reports no child. Calls `beat` and sends `signal` (0: no signal)
// to every descendant repeatedly, because a process may fork meanwhile. False if some processes are
// left after `limit`.
bool until_childless(int signal, std::chrono::milliseconds limit, const process::Beat& beat = {});

// Whether the calling process has no descendant except `spared`.
bool nothing_below_but(pid_t spared);

// Sends `signal` to descendants in the process groups of `leaders`. Descendants without a handler
// for `signal` do not receive it. A forked copy of a rank, such as a data loader, has inherited the
// rank's handler. Such a copy receives no signal, so that the handler runs only once.
void notify_groups(std::span<const pid_t> leaders, int signal);

// Whether the process has a handler for `signal`, according to /proc. Without a handler, most
// signals would kill a process.
bool catches(pid_t pid, int signal);

// Describes a process for a message, from /proc: "4711 (python3, state D in
// nfs_wait_bit_killable)". If the process was killed and still exists, the text describes the
// thread that prevents its end.
std::string describe_process(pid_t pid);

// Describes all processes below the calling process except `spared`.
std::vector<std::string> describe_descendants(pid_t spared = 0);

// Makes this process a subreaper: from now on, orphaned descendants become its children. So a
// descendant cannot escape by a double fork.
void become_subreaper();

// Whether this process is a subreaper. Emulators and sandboxes may not allow subreapers.
bool is_subreaper();

}  // namespace toprun::spawn
