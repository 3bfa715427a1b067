#pragma once

#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

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

// How one worker ended. Times use the steady clock of the host that holds the struct; JSON carries
// them as ages (time elapsed since then), so that hosts need no common clock.
struct WorkerExit {
  std::string host;
  int rank = 0;
  int local_rank = 0;
  int pid = 0;
  std::string program;  // argv[0]
  int exit_code = 0;    // meaningless if signal != 0
  int signal = 0;       // 0: exited by itself
  bool ours = false;    // ended after stop() signalled it, so it is not a cause
  SteadyTime ended{};
  // The exception at the end of the last Python traceback, with all lines of its message; or why
  // Python did not run the script, which has no traceback (output::last_exception). For a
  // worker that we stopped: only from output before the stop. Empty if there was none.
  std::string exception;
  std::vector<std::string> last_output;  // at most last_output_lines lines, oldest first, UTF-8
  std::optional<ErrorFile> error_file;
  // The kernel's message about a SIGKILL that we did not send (OomWatch); empty if there is none.
  std::string kernel_evidence;

  bool failed() const { return exit_code != 0 || signal != 0; }
  int code() const { return signal != 0 ? 128 + signal : exit_code; }
};

inline constexpr std::size_t last_output_lines = 20;
inline constexpr std::size_t last_output_line_bytes = 2000;
// Of any text of an exit that another host tells; a root keeps one of each rank.
inline constexpr std::size_t longest_text_bytes = 1u << 20;
inline constexpr int highest_exit_code = 255;

// Both functions read the steady clock to convert times to ages and back.
void to_json(nlohmann::json& json, const WorkerExit& exit);
// Throws nlohmann::json::exception. What is longer, or larger, than it can be is cut.
void from_json(const nlohmann::json& json, WorkerExit& exit);

// True if the worker's last words only report the loss of a peer or of the store: then it is a
// victim of a failure elsewhere, not the cause. Its error file's message decides; without one its
// last traceback; without that its last lines.
bool tells_only_of_a_lost_peer(const WorkerExit& exit);

// The exit that best explains the others: the earliest one that our signals did not cause, but
// victims only if there is no other. If all are victims, a worker that showed an error of its own
// before we stopped it comes first (its interpreter was still exiting). The order uses the error
// file's time, else the exit's. Null if no worker failed except through our signals.
const WorkerExit* root_cause(const std::vector<WorkerExit>& exits);

// A collective in which ranks timed out, because others never joined it: these report no error and
// lived until we stopped them.
struct MissedCollective {
  const WorkerExit* waited = nullptr;     // the first rank that timed out
  std::vector<const WorkerExit*> absent;  // by rank
};
// nullopt if no rank timed out, or if too many of the others lived to tell which were missing.
std::optional<MissedCollective> missed_collective(const std::vector<WorkerExit>& exits);

// Ranks that ended with 0 while others still needed them, as with uneven data: all failures only
// tell of a lost peer.
struct EndedEarly {
  // That ended with 0 before the first failure or within a moment of it, by rank.
  std::vector<const WorkerExit*> ranks;
  const WorkerExit* victim = nullptr;  // the first failure
  std::string call;                    // in which it was, "all_reduce"; empty: not known
  std::size_t others = 0;              // ranks in that call; without one, all that did not end
};
std::optional<EndedEarly> ended_early(const std::vector<WorkerExit>& exits);

// Whether the program's text or its arguments are at fault, which no restart changes: Python could
// not compile it, or argparse refused its arguments.
bool is_of_the_program_s_text(const WorkerExit& exit);

// Whether Python says by this line that it cannot find or open what it is to run
// ("/usr/bin/python3: No module named x"; runpy.py, Modules/main.c).
bool tells_of_a_missing_program(std::string_view line);

// Whether each rank of the same program is bound to fail in this way, soon and by itself: Python
// cannot compile its text, or does not find what it is to run.
bool fails_in_every_rank(const WorkerExit& exit);
// What argparse says of arguments that it refuses, "train.py: error: unrecognized arguments: --lr";
// empty: it did not.
std::string refusal_of_arguments(const WorkerExit& exit);
// Whether Python did not find or could not load a module.
bool is_of_an_import(const WorkerExit& exit);

// The exit code of a job with this cause: the worker's own, or exit_failure if we stopped the
// worker after it had failed.
int cause_code(const WorkerExit& cause);

}  // namespace toprun::model
