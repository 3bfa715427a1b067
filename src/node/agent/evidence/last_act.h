#pragma once

#include <sys/types.h>

#include <vector>

#include "decide/hang/standing.h"

namespace toprun::evidence {

// The ranks of a hang whose Python stack could not be read.
std::vector<int> unread_ranks(const std::vector<hang::Group>& groups);

// Makes a process that will be killed anyway print its Python stack. The function sends SIGABRT,
// which Python's faulthandler handles. The process writes no core file unless its limit asks for
// one. An RLIMIT_CORE of 1 also stops the kernel from piping a core dump to a crash reporter
// (core(5)).
void abort_with_traceback(pid_t pid);

}  // namespace toprun::evidence
