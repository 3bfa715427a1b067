#pragma once

#include <string>
#include <vector>

#include "base/clock.h"
#include "base/error.h"

namespace toprun::scheduler {

// The descriptor on which Hydra (MPICH, Intel MPI) talks to each process that it starts.
inline constexpr const char* pmi_fd_variable = "PMI_FD";

// What processes of one mpiexec learn of each other over PMI-1 (Flux RFC 13, MPICH's PMI wiki):
// lines "cmd=NAME key=value …" in turn with the process's own proxy.
struct PmiMeeting {
  std::string job;   // the name of their key space
  std::string said;  // what rank 0 said
};

// Rank 0 says `words`, without blanks and of 512 bytes at most, the others say nothing. Every
// process of the mpiexec has to call it; blocks until all have, or until the deadline. The
// connection can still be used by MPI afterwards.
Result<PmiMeeting> meet_by_pmi(int fd, bool is_rank_0, const std::string& words,
                               SteadyTime deadline);

}  // namespace toprun::scheduler
