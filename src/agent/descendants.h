#pragma once

#include <signal.h>
#include <sys/types.h>

#include <span>
#include <string>
#include <vector>

namespace toprun::agent {

// Every process below `root`, nearest first, zombies included; `root` itself is not. A process that
// forks meanwhile may be missed: who kills repeats until the kernel says that no child is left.
std::vector<pid_t> descendants(pid_t root);

// Sends `signal` to every process below the calling one. Returns how many there were.
int signal_descendants(int signal);

// To those of them that are in one of these process groups and have a handler of their own for it:
// a data loader that was forked has its rank's, which is to run once.
void notify_groups(std::span<const pid_t> leaders, int signal);

// Whether the process has a handler for it, as far as /proc says: most signals would end one that
// has none.
bool catches(pid_t pid, int signal);

// A process for a message: "4711 (python3, state D in nfs_wait_bit_killable)", as far as /proc
// says.
std::string describe_process(pid_t pid);

// That of every process below the calling one.
std::vector<std::string> describe_descendants();

// Makes this process the one that inherits orphans from below it, so that a descendant cannot
// escape by a double fork.
void become_subreaper();

}  // namespace toprun::agent
