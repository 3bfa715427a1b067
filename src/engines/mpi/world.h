#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/os/environment.h"
#include "base/text/error.h"

namespace toprun::engines {

inline constexpr std::size_t max_root_candidates = 64;  // each member asks all of them in turn

// What an mpirun tells each process that it starts, by environment variables:
//
//   Open MPI 4 and 5   OMPI_COMM_WORLD_{RANK,SIZE,LOCAL_RANK,LOCAL_SIZE}; version 4 also
//                      OMPI_MCA_orte_{num_nodes,node_regex,hnp_uri}. OMPI_COMM_WORLD_NODE_RANK
//                      does not number nodes: it counts processes on one node.
//   Hydra: MPICH,      PMI_{RANK,SIZE}, MPI_{LOCALRANKID,LOCALNRANKS}
//   Intel MPI
//
// None of them says on which host rank 0 is.
struct MpiWorld {
  std::string launcher;  // "Open MPI's mpirun", "MPICH's mpiexec"
  int rank = 0;
  int size = 1;
  int local_rank = 0;
  int local_size = 1;
  std::optional<int> nodes;  // that have a process
  std::string job;           // the same for all processes; empty where nothing names it
  std::string key;           // a random one that only they know; empty where there is none
  // Where rank 0 may be, the likeliest first: names or addresses.
  std::vector<std::string> hosts;
  bool bound = false;  // to some of the node's CPUs
};

// Nothing where no mpirun started this process. Processes of a Slurm step are Slurm's, whatever PMI
// says. Two launchers that contradict each other are an error.
Result<std::optional<MpiWorld>> mpi_world(const Environment& environment);

// The names in OMPI_MCA_orte_node_regex, as in "ctl,n[3:1-2,4]-ib@0(4)" (Open MPI 4.1,
// orte/mca/regx): a bracket has the width of its numbers and their ranges; what follows "@" counts
// daemons. Empty if it is not of that form.
std::vector<std::string> orte_hosts(std::string_view regex);

// The addresses in OMPI_MCA_orte_hnp_uri, at which every node has reached mpirun, as in
// "1351942144.0;tcp://10.77.2.1,10.0.0.5:39579;tcp6://[fd77::1]:50607".
std::vector<std::string> orte_addresses(std::string_view uri);

// What tells a process that it is a rank of MPI's: an agent's workers are none.
std::vector<std::string> mpi_variables(const Environment& environment);

}  // namespace toprun::engines
