#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "base/process/command.h"
#include "base/text/clock.h"
#include "base/text/error.h"

namespace toprun::model {

// The content of a worker's error.json, which PyTorch's @record writes when its function raises.
// Format: torch/distributed/elastic/multiprocessing/errors/error_handler.py.
struct ErrorFile {
  std::string path;
  std::string message;               // "ValueError: boom"
  std::optional<SteadyTime> raised;  // on this host's clock; unset if the file has no time
};

// How one worker ended. Times use the steady clock of the host that holds the struct. In JSON, each
// time is an age (how long ago the event was), so that hosts need no common clock.
struct WorkerExit {
  std::string host;
  int rank = 0;
  int local_rank = 0;
  int pid = 0;
  std::string program;  // argv[0]
  int exit_code = 0;    // meaningless if signal != 0
  int signal = 0;       // 0: the worker exited by itself
  bool ours = false;    // the worker ended after stop() had signalled it, so it is not the cause of
                        // a failure
  SteadyTime ended{};
  // The exception at the end of the last Python traceback, with all lines of its message. If Python
  // could not run the script, there is no traceback, and this is the reason that Python printed
  // (output::last_exception). For a worker that toprun stopped, only output before the stop counts.
  // Empty if there was no exception.
  std::string exception;
  std::vector<std::string> last_output;  // at most last_output_lines lines, oldest first, UTF-8
  std::optional<ErrorFile> error_file;
  // The kernel's message about a SIGKILL that toprun did not send (OomWatch); empty: none.
  std::string kernel_evidence;

  bool failed() const { return exit_code != 0 || signal != 0; }
  int code() const { return signal != 0 ? 128 + signal : exit_code; }
};

inline constexpr std::size_t last_output_lines = 20;
inline constexpr std::size_t last_output_line_bytes = 2000;
// Limit for each text of an exit that another host sends. The root stores one exit per rank.
inline constexpr std::size_t longest_text_bytes = 1u << 20;
inline constexpr int highest_exit_code = 255;

// Writes each time as an age, which is computed with the steady clock.
void to_json(nlohmann::json& json, const WorkerExit& exit);
// Converts the ages to times of the steady clock. Texts that exceed longest_text_bytes are cut.
// Numbers that are out of range are changed to the nearest limit. Throws nlohmann::json::exception.
void from_json(const nlohmann::json& json, WorkerExit& exit);

// True if the worker's last output only reports the loss of a peer or of the store. Such a worker
// is a victim of a failure elsewhere, not the cause. The function checks the message in the
// worker's error file, else its last traceback, else its last lines.
bool tells_only_of_a_lost_peer(const WorkerExit& exit);

// Returns the exit that best explains the others: the earliest exit that toprun's signals did not
// cause. A victim is chosen only if all workers that failed are victims. Even then, a worker that
// toprun stopped is chosen first if it had already reported an error of its own. Such a worker had
// failed by itself, and its interpreter was still exiting when toprun stopped it. Exits are
// compared by the time in the error file, else by the time of the exit. Null if all failures were
// caused by toprun's signals, or if there were none.
const WorkerExit* root_cause(const std::vector<WorkerExit>& exits);

// A collective in which ranks timed out because other ranks never joined it. The absent ranks
// report no error and ran until toprun stopped them.
struct MissedCollective {
  const WorkerExit* waited = nullptr;     // the first rank that timed out
  std::vector<const WorkerExit*> absent;  // by rank
};
// Returns the collective that ranks missed. nullopt in these cases: no rank timed out; a rank
// failed for a reason other than a lost peer; toprun stopped no rank that had no error; toprun
// stopped more ranks without an error than ranks failed by themselves. In the last case some of the
// stopped ranks may have been waiting too, so the absent ranks are not known.
std::optional<MissedCollective> missed_collective(const std::vector<WorkerExit>& exits);

// Ranks that exited with 0 while others still needed them, for example because they had less data.
// All failures of other ranks only report a lost peer.
struct EndedEarly {
  // Sorted by rank: the ranks that exited with 0 before the first failure, or a moment after it.
  std::vector<const WorkerExit*> ranks;
  const WorkerExit* victim = nullptr;  // the first failure
  std::string call;                    // the call that failed, "all_reduce"; empty: unknown
  std::size_t others = 0;              // how many ranks were in that call; if the call is unknown,
                                       // how many ranks did not end
};
std::optional<EndedEarly> ended_early(const std::vector<WorkerExit>& exits);

// Ranks made different calls of a collective: other sizes, types or operations. The rank that ended
// first has noticed this, but it may not be the rank that is wrong.
struct Mismatch {
  const WorkerExit* noticed = nullptr;
  // Where the ranks made their calls, in the user's code ("train.py, line 88, in step"), and the
  // ranks at each place, sorted.
  std::map<std::string, std::vector<int>> places;
};
bool tells_of_a_mismatch(const WorkerExit& exit);
std::optional<Mismatch> mismatch(const std::vector<WorkerExit>& exits);
// Whether the text is PyTorch's message that shows both mismatched calls
// (TORCH_DISTRIBUTED_DEBUG=DETAIL).
bool shows_both_calls(std::string_view text);

// Whether the rank failed because of the program's source text or arguments. A restart does not
// help, because Python could not compile the text, or argparse refused the arguments.
bool is_of_the_program_s_text(const WorkerExit& exit);

// Whether this line is Python's message that it cannot find or open the program to run
// ("/usr/bin/python3: No module named x"; runpy.py, Modules/main.c).
bool tells_of_a_missing_program(std::string_view line);

// Whether every rank of the same program will soon fail in the same way, because Python cannot
// compile the program's text or does not find the program.
bool fails_in_every_rank(const WorkerExit& exit);
// Returns argparse's message about arguments that it refuses, "train.py: error: unrecognized
// arguments: --lr". Empty: argparse refused nothing.
std::string refusal_of_arguments(const WorkerExit& exit);
// Whether Python did not find or could not load a module.
bool is_of_an_import(const WorkerExit& exit);

// Returns the exit code of a job with this cause: the worker's own code, or exit_failure if toprun
// stopped the worker after it had failed.
int cause_code(const WorkerExit& cause);

// The program name with which toprun starts itself as a rank, as `toprun bench` does.
inline constexpr std::string_view own_program = process::own_program;

// The exit code of a toprun rank that did its work and found something, such as a slow node.
inline constexpr int exit_found = 3;

// Whether a toprun rank ended with exit_found, or refused an impossible request. Neither outcome is
// a failure, and the rank has printed what it found. If a user's program exits with the same code,
// this is not a finding.
inline bool is_finding(const WorkerExit& exit) {
  return exit.program == own_program && exit.signal == 0 &&
         (exit.exit_code == exit_found || exit.exit_code == exit_usage);
}

}  // namespace toprun::model
