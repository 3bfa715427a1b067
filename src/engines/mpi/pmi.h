#pragma once

#include <string>

#include "base/text/clock.h"
#include "base/text/error.h"

namespace toprun::engines {

// The descriptor on which Hydra (MPICH, Intel MPI) talks to each process that it starts.
inline constexpr const char* pmi_fd_variable = "PMI_FD";

// One process of an mpiexec.
struct PmiRank {
  int fd = -1;
  int rank = 0;
  int ranks = 1;
  int local_rank = 0;
};

// What processes of one mpiexec learn of each other over PMI-1 (Flux RFC 13, MPICH's PMI wiki):
// lines "cmd=NAME key=value …" in turn with the process's own proxy.
struct PmiMeeting {
  std::string job;   // the name of their key space
  std::string said;  // what rank 0 said
  int nodes = 1;     // that have a process
};

// Rank 0 says `words`, without blanks and semicolons and of 512 bytes at most; the others' are not
// heard. Every process of the mpiexec has to call it; blocks until all have, or until the deadline.
// Afterwards the connection is closed: a proxy kills everything when a process that has begun to
// speak PMI ends without a farewell, as ranks in place would. Nodes are counted by their local
// ranks 0: a PMI_process_mapping need not say them all (MPICH 4.2 leaves a half-filled one out).
Result<PmiMeeting> meet_by_pmi(const PmiRank& me, const std::string& words, SteadyTime deadline);

}  // namespace toprun::engines
