#pragma once

#include <sys/types.h>

#include <vector>

#include "decide/hang/standing.h"

namespace toprun::evidence {

// Those of a hang's ranks whose Python stack could not be read.
std::vector<int> unread_ranks(const std::vector<hang::Group>& groups);

// Has a process that is to be ended anyway print where it stands: by SIGABRT, whose handler is
// Python's faulthandler. It leaves no core file unless its limit asks for one; RLIMIT_CORE of 1 is
// what also stops the kernel's pipe to a crash reporter (core(5)).
void make_tell(pid_t pid);

}  // namespace toprun::evidence
