#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/error.h"

namespace toprun::scheduler {

// The descriptor on which Hydra (MPICH, Intel MPI) talks to each process that it starts.
inline constexpr const char* pmi_fd_variable = "PMI_FD";

// What processes of one mpiexec learn of each other over PMI-1 (Flux RFC 13, MPICH's PMI wiki):
// lines "cmd=NAME key=value …" in turn with the process's own proxy.
struct PmiMeeting {
  std::string job;           // the name of their key space
  std::string said;          // what rank 0 said
  std::optional<int> nodes;  // that have a process, as far as the proxy tells
};

// The nodes of so many ranks in a PMI_process_mapping such as "(vector,(0,2,8),(2,1,4))": first
// node, nodes, ranks on each, again from the beginning where ranks are left.
std::optional<int> nodes_in_mapping(std::string_view mapping, int ranks);

// Rank 0 of `ranks` says `words`, without blanks and of 512 bytes at most, the others say nothing.
// Every process of the mpiexec has to call it; blocks until all have, or until the deadline. The
// connection can still be used by MPI afterwards.
Result<PmiMeeting> meet_by_pmi(int fd, int rank, int ranks, const std::string& words,
                               SteadyTime deadline);

}  // namespace toprun::scheduler
