#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/text/error.h"
#include "base/text/outside.h"
#include "node/launch/step.h"
#include "node/plan/job.h"

namespace toprun::launch {

// The reason why ranks have failed, if mpirun itself started them.
struct MpiFailure {
  std::optional<int> rank;    // the rank that failed first, if mpirun names it
  std::optional<int> signal;  // the signal that killed the rank
  // The first line of the exception, without secrets; empty: no exception is visible.
  std::string exception;
  std::string advice;  // empty: the exception needs no advice
  // What the rank wrote last to stderr, without secrets, oldest first; empty: mpirun does not show
  // which rank wrote what.
  std::vector<Outside> last_lines = {};

  bool is_known() const { return rank || !exception.empty(); }
};

// Finds the reason in `said`, the last part of the stderr of mpirun and the ranks. If mpirun tags
// each line with its rank, uses the tags. Without tags, the line after a traceback may be from
// another rank, so it is used only if it begins with the name of an error type.
MpiFailure mpi_failure(std::string_view said);

// One mpirun that itself starts every rank, for programs that get their ranks from MPI
// (--launcher).
struct MpiRanks {
  std::vector<std::string> argv;   // contains host_file_word as a placeholder for the host file's
                                   // name
  std::vector<std::string> hosts;  // the host of each rank; each is one line of the host file
  Environment environment;         // the environment of mpirun
  Written written = Written::plain;
};
inline constexpr const char* host_file_word = "HOSTS";  // placeholder in argv
Result<MpiRanks> mpi_ranks(const plan::Job& job);

// This variable is set for a toprun that mpirun starts as a rank (--launcher). It says that this
// toprun must enter a container.
inline constexpr const char* contained_rank_variable = "TOPRUN_CONTAINED_RANK";
// Turns this process into a rank in a container. Returns only on failure; the result is the exit
// code.
int become_contained(const plan::Options& options, const Environment& environment);

// Runs mpirun and returns its exit code. This process's standard input goes to rank 0, and signals
// that it receives go to mpirun.
int run_mpi_ranks(const plan::Job& job);

}  // namespace toprun::launch
