#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/os/environment.h"
#include "base/text/error.h"

namespace toprun::engines {

inline constexpr std::size_t max_root_candidates = 64;  // each member queries all candidates, one
                                                        // after the other

// The environment variables that an mpirun sets for each of its processes:
//
//   Open MPI 4 and 5   OMPI_COMM_WORLD_{RANK,SIZE,LOCAL_RANK,LOCAL_SIZE}; version 4 also
//                      OMPI_MCA_orte_{num_nodes,node_regex,hnp_uri}. OMPI_COMM_WORLD_NODE_RANK
//                      does not number nodes: it counts processes on one node.
//   Hydra: MPICH,      PMI_{RANK,SIZE}, MPI_{LOCALRANKID,LOCALNRANKS}
//   Intel MPI
//
// None of the variables names the host of rank 0.
struct MpiWorld {
  std::string launcher;  // "Open MPI's mpirun", "MPICH's mpiexec"
  int rank = 0;
  int size = 1;
  int local_rank = 0;
  int local_size = 1;
  std::optional<int> nodes;  // number of nodes that run a process
  std::string job;           // the same for all processes; empty: unknown
  std::string key;           // a random key that only these processes know; empty: none
  // Possible hosts of rank 0, the most likely first: names or addresses.
  std::vector<std::string> hosts;
  bool bound = false;  // mpirun has bound the process to some of the node's CPUs
};

// Reads the variables that an mpirun sets. nullopt: no mpirun started this process. A process of a
// Slurm step counts as started by Slurm, even if it has PMI variables. Error: the variables of two
// launchers contradict each other.
Result<std::optional<MpiWorld>> mpi_world(const Environment& environment);

// Returns the host names in OMPI_MCA_orte_node_regex, such as "ctl,n[3:1-2,4]-ib@0(4)" (Open MPI
// 4.1, orte/mca/regx). A bracket contains the width of the numbers and their ranges. The text after
// "@" is the number of daemons. Empty if the text has another form.
std::vector<std::string> orte_hosts(std::string_view regex);

// Returns the addresses under which nodes reach mpirun, from OMPI_MCA_orte_hnp_uri, such as
// "1351942144.0;tcp://10.77.2.1,10.0.0.5:39579;tcp6://[fd77::1]:50607".
std::vector<std::string> orte_addresses(std::string_view uri);

// Returns the names of the variables that make a process an MPI rank. An agent removes these
// variables from its workers' environment, because the workers are not MPI ranks.
std::vector<std::string> mpi_variables(const Environment& environment);

}  // namespace toprun::engines
