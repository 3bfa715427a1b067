#pragma once

#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "base/clock.h"
#include "base/error.h"

namespace toprun::agent {

// What a worker's error.json says, which PyTorch's @record writes when its function raises. Format:
// torch/distributed/elastic/multiprocessing/errors/error_handler.py.
struct ErrorFile {
  std::string path;
  std::string message;               // "ValueError: boom"
  std::optional<SteadyTime> raised;  // on this host's clock; unset if the file names no time
};

// How one worker ended. Times are of the steady clock of the host that holds the struct: JSON
// carries them as ages (how long ago), so that hosts need no common clock.
struct WorkerExit {
  std::string host;
  int rank = 0;
  int local_rank = 0;
  int pid = 0;
  std::string program;  // argv[0]
  int exit_code = 0;    // meaningless if signal != 0
  int signal = 0;       // 0: exited by itself
  bool ours = false;    // ended after stop() had told it to: not a cause
  SteadyTime ended{};
  // What the last Python traceback ended with, several lines if the message has several; of a
  // worker that we stopped, only what it had printed before. Empty if there was none.
  std::string exception;
  std::vector<std::string> last_output;  // at most last_output_lines lines, oldest first, UTF-8
  std::optional<ErrorFile> error_file;
  // What the kernel says about a SIGKILL that we did not send (OomWatch); empty if nothing.
  std::string kernel_evidence;

  bool failed() const { return exit_code != 0 || signal != 0; }
  int code() const { return signal != 0 ? 128 + signal : exit_code; }
};

inline constexpr std::size_t last_output_lines = 20;
inline constexpr std::size_t last_output_line_bytes = 2000;

// Both read the steady clock to turn times into ages and back.
void to_json(nlohmann::json& json, const WorkerExit& exit);
void from_json(const nlohmann::json& json, WorkerExit& exit);  // throws nlohmann::json::exception

// True if all that the worker said last is the loss of a peer or of the store: it is a victim of a
// failure elsewhere, not the cause. Its error file's message decides, else its last traceback, else
// its last lines.
bool tells_only_of_a_lost_peer(const WorkerExit& exit);

// The exit that best explains the others: the earliest that our signals did not cause, except that
// victims yield to the others, and, if there are only victims, to a worker that had shown an error
// of its own before we stopped it (its interpreter was still on its way out). Time is the error
// file's, else the exit's. Null if no worker failed but by our signals.
const WorkerExit* root_cause(const std::vector<WorkerExit>& exits);

// Of a run in which ranks timed out in a collective, the ranks that did not come to it: no word of
// theirs tells of an error, and they lived until we stopped them. Empty: nobody timed out, or too
// many of the others lived to say which of them were missed.
std::vector<const WorkerExit*> absent_from_a_collective(const std::vector<WorkerExit>& exits);

// The exit code of a job with this cause: the worker's own, or exit_failure if we stopped a worker
// that had failed already.
int cause_code(const WorkerExit& cause);

// What an error.json says. `modified` is the file's, which refines the time stamp's whole seconds;
// `started` and now bound it. Null if it is no such file.
std::optional<ErrorFile> parse_error_file(const std::string& text, const std::string& path,
                                          WallTime modified, SteadyTime started);

}  // namespace toprun::agent
