#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "base/text/outside.h"
#include "run/model/exit.h"

namespace toprun::model {

// A frame of a Python traceback in the output of a rank, "  File \"train.py\", line 88, in step".
struct Frame {
  std::string_view file, line, function;
};
// Parses a line of a rank's output. nullopt: the line is not a frame. The result refers to `text`.
std::optional<Frame> frame_in(std::string_view text);

// Returns the innermost frame of the user's own code in the last traceback, "train.py, line 88, in
// step". Empty: no line is such a frame.
std::string users_place(std::span<const std::string> output);
std::string users_place(const Frame& frame);

// Whether `output`, the last lines of a rank, proves that this exception was caught nowhere and
// ended the rank's Python. The proof is PyTorch's sys.excepthook, which puts "[rank0]: " before
// each line of such a traceback (_distributed_excepthook in torch/distributed/distributed_c10d.py).
// A traceback without this prefix may have been logged by a rank that went on.
bool was_caught_nowhere(std::string_view exception, std::span<const std::string> output);

// The reason why an attempt did not end with all ranks at exit code 0.
enum class CauseKind {
  exit,          // a rank ended with an exit code other than 0
  signal,        // a signal that toprun did not send killed a rank
  node_lost,     // a node no longer answers
  agent_lost,    // a node's agent died
  join_timeout,  // too few nodes joined
  refused,       // a different version, secret, job …
  interrupted,   // a signal from the user or the scheduler ended the job
  preempted,     // reported by the scheduler
  time_limit,    // reported by the scheduler
  hang,          // ranks timed out in a collective because other ranks did not reach it
  launcher,      // any other error of toprun itself
  grown,         // the attempt was stopped to add more nodes
  ended_early,   // ranks exited with 0 while other ranks still needed them
  mismatch,      // ranks called a collective with different sizes or types
  requeued,      // the scheduler requeued the job, but not to make room for another job
  other,         // a kind that this version does not know, in a report of another version
};

// Returns the name in JSON: "exit", "node_lost" …
std::string_view name_of(CauseKind kind);
struct Cause {
  CauseKind kind = CauseKind::launcher;
  std::optional<int> rank;
  std::optional<int> local_rank;
  std::optional<int> pid;
  Outside program;  // argv[0] of the rank
  Outside node;     // empty: no single node
  std::optional<int> exit_code;
  std::optional<int> signal;
  Outside meanwhile;   // only for ended_early: "2 ranks still called all_reduce"
  Outside message;     // from an exception, an error file or toprun itself
  Outside error_file;  // path; empty: none
  std::vector<Outside> last_output;
  Outside kernel_evidence;  // the out-of-memory killer's message; empty: none
  Outside next = {};        // what the user can do; empty: no advice. Only in reports and pictures
  Outside what = {};        // read from a --report file: the sentence() in it; else empty
};

// Whether the signal came after an exception that had ended the rank's Python. In this case, native
// code was still running and aborted or crashed while the interpreter exited. The exception is the
// cause.
bool is_at_exit_of_python(const Cause& cause);
// Whether std::terminate(), called without an exception, aborted a rank's Python that had printed
// no error. This happens when Python exits while C++ threads still run; it may also be a crash.
bool is_perhaps_at_exit_of_python(const Cause& cause);

// Describes the cause, without its message: "rank 3 on n1 ended with exit code 7".
std::string sentence(const Cause& cause);
// Returns sentence() and the run's exit code, unless the sentence already contains the code.
std::string sentence_with_code(const Cause& cause, int exit_code);
// Returns " on n4"; empty if the cause has no single node.
std::string on(const Outside& node);
// Returns, for lists, sentence() and the first line of the message, without repeating the node.
std::string short_text(const Cause& cause);
nlohmann::json cause_json(const Cause& cause);
// Reads the output of cause_json(). Missing and malformed values stay unset. nullopt: `object` is
// null, or has neither a sentence nor a message.
std::optional<Cause> cause_in(const nlohmann::json& object);

// Converts a worker's exit to a cause of kind exit or signal.
Cause cause_of(const WorkerExit& exit);

}  // namespace toprun::model
