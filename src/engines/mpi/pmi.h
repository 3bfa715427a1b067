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

// The facts that processes of one mpiexec exchange over PMI-1 (Flux RFC 13, MPICH's PMI wiki). In
// this protocol, a process and its proxy (mpiexec's process on the node) take turns and send lines
// "cmd=NAME key=value …".
struct PmiMeeting {
  std::string job;   // the name of their key space
  std::string said;  // the text from rank 0
  int nodes = 1;     // number of nodes that run a process
};

// Exchanges facts with the other processes of the mpiexec. All of them must call this function.
// Rank 0 publishes `words`: at most 512 bytes, without blanks and semicolons. The words of other
// ranks are ignored. The call blocks until all processes have called this function, or until the
// deadline. At its end, the function closes the connection: if a rank used PMI and exited without
// finalizing PMI, the proxy would kill all processes. The number of nodes is the number of
// processes with local rank 0. PMI_process_mapping is not used, because it may be incomplete (MPICH
// 4.2 leaves out a half-filled node).
Result<PmiMeeting> meet_by_pmi(const PmiRank& me, const std::string& words, SteadyTime deadline);

}  // namespace toprun::engines
