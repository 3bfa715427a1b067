#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/os/environment.h"
#include "base/text/error.h"
#include "engines/allocation.h"

namespace toprun::engines {

// The program and options to use instead of `mpirun`, separated by blanks.
inline constexpr const char* mpirun_variable = "TOPRUN_MPIRUN";

// The MPI implementation, which determines mpirun's options.
enum class Mpirun {
  orte,   // Open MPI 3 and 4 (mpirun(1)): --mca
  prrte,  // Open MPI 5 and newer, prterun (prterun(1)): --prtemca
  hydra,  // MPICH's and Intel MPI's mpiexec: one dash
};
// By what `mpirun --version` printed. Error: another, or one that is too old.
Result<Mpirun> mpirun_in(std::string_view printed);

struct MpirunCommand {
  std::vector<std::string> program;  // mpirun itself, as the user has it
  Mpirun kind = Mpirun::orte;
  bool as_root = false;
  std::vector<std::string> variables;  // names that every process is to get
  std::vector<std::string> argv;       // what it is to start
};

// One process on each of the nodes, which mpirun binds to no CPUs.
std::vector<std::string> mpirun_agents(const MpirunCommand& command,
                                       const std::vector<Node>& nodes);

// One process per rank. `host_file` names, by rank, the host of each, one per line: mpirun's own
// mappings put the host on which it runs first, and Slurm's order before that of --host.
std::vector<std::string> mpirun_ranks(const MpirunCommand& command, const std::string& host_file,
                                      int ranks);

// Whether mpirun has to tag the ranks' output for MpirunOutput: with Open MPI 3 and 4, unless the
// user asked for tags already.
bool tags_output(const MpirunCommand& command);

// Why mpirun failed, from the end of what it wrote to stderr, in words of ours and with what to do;
// nothing where we know no better.
std::optional<Error> mpirun_trouble(std::string_view said);

// Whether mpirun has said that one of its processes ended with another code than 0. It then ends
// the others and itself, but waits for a host that is lost as long as TCP does.
bool mpirun_is_ending(std::string_view said);

// The rank that ended first with another code than 0, where mpirun names it: Open MPI 4 at times.
std::optional<int> first_to_fail(std::string_view said);

// A rank that a signal killed, which ended the run.
struct KilledRank {
  int rank = 0;
  int signal = 0;
};
// The rank whose kill mpirun reports: Open MPI 3 and newer do.
std::optional<KilledRank> killed_rank(std::string_view said);

// The user's mpirun: the words, and what kind it says it is. Runs it with --version.
Result<MpirunCommand> find_mpirun(const Environment& environment);

}  // namespace toprun::engines
