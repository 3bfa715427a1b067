#pragma once

#include <string>
#include <vector>

#include "base/text/error.h"
#include "node/launch/step.h"
#include "node/plan/job.h"

namespace toprun::launch {

// One mpirun that starts every rank by itself, for programs whose ranks are MPI's (--launcher).
struct MpiRanks {
  std::vector<std::string> argv;   // with host_file for the file's name
  std::vector<std::string> hosts;  // by rank: a line of the file each
  Environment environment;         // for mpirun
  Written written = Written::plain;
};
inline constexpr const char* host_file_word = "HOSTS";  // in argv
Result<MpiRanks> mpi_ranks(const plan::Job& job);

// In the environment of a toprun that such an mpirun started: it is to become a rank in a
// container.
inline constexpr const char* contained_rank_variable = "TOPRUN_CONTAINED_RANK";
// Does so; returns only if it could not, the exit code.
int become_contained(const plan::Options& options, const Environment& environment);

// Runs it: standard input is rank 0's, signals go to mpirun; returns its exit code.
int run_mpi_ranks(const plan::Job& job);

}  // namespace toprun::launch
