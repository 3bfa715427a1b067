#pragma once

#include <string>

#include "base/text/clock.h"
#include "base/text/error.h"

namespace toprun::engines {

// The file descriptor on which Hydra (MPICH, Intel MPI) communicates with each of its processes.
inline constexpr const char* pmi_fd_variable = "PMI_FD";

// One process of an mpiexec.
struct PmiRank {
  int fd = -1;
  int rank = 0;
  int ranks = 1;
  int local_rank = 0;
};

// The facts that processes of one mpiexec exchange over PMI-1 (Flux RFC 13, MPICH's PMI wiki). The
// protocol consists of lines "cmd=NAME key=value …", alternating with the process's own proxy.
struct PmiMeeting {
  std::string job;   // the name of their key space
  std::string said;  // the text from rank 0
  int nodes = 1;     // number of nodes that run a process
};

// Rank 0 publishes `words`: at most 512 bytes, without blanks and semicolons. The words of other
// ranks are ignored. Every process of the mpiexec must call it. It blocks until all have called it,
// or until the deadline. Afterwards it closes the connection. Otherwise the proxy would kill
// everything when a process that has used PMI ends without a farewell, as ranks in place do. Nodes
// are counted by their local ranks 0, because PMI_process_mapping may be incomplete (MPICH 4.2
// omits a half-filled node).
Result<PmiMeeting> meet_by_pmi(const PmiRank& me, const std::string& words, SteadyTime deadline);

}  // namespace toprun::engines
