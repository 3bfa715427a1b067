#pragma once

#include <cstddef>
#include <map>
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
// Returns the implementation that printed this output of `mpirun --version`. Error: another
// implementation, or a version that is too old.
Result<Mpirun> mpirun_in(std::string_view printed);

struct MpirunCommand {
  std::vector<std::string> program;  // mpirun itself, as the user specified it
  Mpirun kind = Mpirun::orte;
  bool as_root = false;
  std::vector<std::string> variables;  // names of variables for every process
  std::vector<std::string> argv;       // the command to start
};

// Returns the command for one process on each node, which mpirun does not bind to CPUs.
std::vector<std::string> mpirun_agents(const MpirunCommand& command,
                                       const std::vector<Node>& nodes);

// Returns the command for one process per rank. `host_file` lists the host of each rank, one per
// line. mpirun's own mappings are not usable: they put mpirun's host first, and prefer Slurm's
// order of hosts to the order in --host.
std::vector<std::string> mpirun_ranks(const MpirunCommand& command, const std::string& host_file,
                                      int ranks);

// Whether mpirun must tag the ranks' output for MpirunOutput. True for Open MPI 3 and 4, unless the
// user has already requested tags.
bool tags_output(const MpirunCommand& command);

// Returns why mpirun failed, in toprun's words and with advice, according to the end of mpirun's
// stderr. nullopt if toprun does not know the message.
std::optional<Error> mpirun_trouble(std::string_view said);

// Whether mpirun failed before it started a rank, according to its error message in `said`. `said`
// must be mpirun's own text: ranks may print the same words. False if toprun does not know mpirun's
// error message.
bool no_rank_began(std::string_view said);

// Whether mpirun reported that one of its processes ended with a code other than 0. In this case,
// mpirun ends the other processes and itself, but waits for a lost host until TCP times out.
bool mpirun_is_ending(std::string_view said);

// Returns the rank that first ended with a code other than 0. Unset if mpirun does not name the
// rank: only Open MPI 4 does, and not always.
std::optional<int> first_to_fail(std::string_view said);

// A rank that a signal killed, and whose death ended the run.
struct KilledRank {
  int rank = 0;
  int signal = 0;
};
// Returns the killed rank according to mpirun. Unset if mpirun does not name it: only Open MPI 3
// and newer do.
std::optional<KilledRank> killed_rank(std::string_view said);

// Finds the user's mpirun: its command line and its implementation. Runs `mpirun --version`.
Result<MpirunCommand> find_mpirun(const Environment& environment);

// Separates the output of ranks that Open MPI's mpirun has mixed. mpirun prints each piece that it
// reads from a rank, so half a line of one rank may follow half a line of another. With
// --tag-output (Open MPI 3 and 4, mpirun(1); seen with 4.1.4), mpirun prints "[1,RANK]<stdout>:"
// before each piece and before each line within a piece. The result has whole lines without tags.
// mpirun's own messages have no tags and pass unchanged.
class MpirunOutput {
 public:
  static constexpr std::size_t longest_line_bytes = 64u << 10;  // a longer line is split into
                                                                // pieces

  // Takes the next bytes of mpirun's output, and returns the lines that they complete. A carriage
  // return also ends a line.
  std::string add(std::string_view bytes);
  // At the end of mpirun's output, returns the text of unfinished lines.
  std::string rest();

 private:
  void take(std::string_view piece, std::string& out);

  static constexpr int no_rank = -1;
  int rank_ = no_rank;                     // the rank that wrote the current piece
  std::map<int, std::string> unfinished_;  // by rank
  std::string held_;                       // may be the beginning of a tag
};

// The key of text without a tag in the result of texts_by_rank().
inline constexpr int by_mpirun = -1;
// Returns the output of each rank, by rank, from a text with tags.
std::map<int, std::string> texts_by_rank(std::string_view tagged);

}  // namespace toprun::engines
