#pragma once

#include <sys/types.h>

#include <vector>

#include "decide/hang/standing.h"

namespace toprun::evidence {

// In a hang, the ranks whose Python stack could not be read.
std::vector<int> unread_ranks(const std::vector<hang::Group>& groups);

// Makes a process print its Python stack before it is killed. The function sends SIGABRT, which
// Python's faulthandler handles. The process writes no core file, unless its limit for core files
// allows it. If RLIMIT_CORE is 0, the function sets RLIMIT_CORE to 1, so that the kernel also pipes
// no core dump to a crash reporter (core(5)).
void abort_with_traceback(pid_t pid);

}  // namespace toprun::evidence
