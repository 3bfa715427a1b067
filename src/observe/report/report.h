#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "base/os/style.h"
#include "run/model/hang.h"
#include "run/model/phases.h"
#include "run/model/record.h"

namespace toprun::report {

// How many ranks ended in which way, without the rank that caused the failure.
struct Others {
  int failed = 0;   // failed by themselves after the cause, and did not say why
  int stopped = 0;  // stopped by toprun
  int ended = 0;    // with exit code 0
  int alike = 0;    // failed with the same exception as the cause
  int other = 0;    // failed by themselves, with an exception that differs from the cause's and
                    // does not report a lost peer
  int victims = 0;  // failed by themselves after the cause, because they had lost a peer
  // The exceptions of the ranks in `other`, first line only: "rank 2: KeyError: 'label'".
  // `stopped_say` has the exceptions that ranks had printed before toprun stopped them: "rank 2 had
  // printed KeyError: 'label'". Each list has at most most_exceptions_shown exceptions, and then
  // the number of further ones.
  std::vector<std::string> others_say = {};
  std::vector<std::string> stopped_say = {};
};
inline constexpr std::size_t most_exceptions_shown = 3;

// Counts how the ranks in `exits` except `cause` ended. `cause` is one of `exits`, or null.
Others count_others(const std::vector<model::WorkerExit>& exits, const model::WorkerExit* cause);

// Returns advice about the cause; empty: no advice. `has_logs`: the ranks' output is in files.
std::string advice(const model::Cause& cause, bool has_logs);

// Returns the last lines that the cause's rank printed, without PyTorch's own notes below an
// exception, unless the rank printed nothing else.
std::vector<std::string> last_lines_of(const model::Cause& cause);

// Returns the message to the user after a failed run: the rank or node that failed, its error
// message, how the other ranks ended, where the logs are, and advice. At most 25 lines; the first
// starts with "toprun: ". On a terminal, lines are cut to its width. `logs` is the failed rank's
// log file or folder on its node. `node_log` is the file with all output of this node. `logs` and
// `node_log` are empty if there is no such file.
std::string failure_report(const model::Cause& cause, const Others& others, const Outside& logs,
                           const Style& style, const std::string& node_log = {});

// Returns what happened before the run's end: " after 1 restart and 1 new attempt (n2 was lost)".
// If all ranks ended with 0 because a signal asked the run to end, the text names this signal.
// Empty: nothing happened.
std::string history_text(const model::RunRecord& run);

// Returns the line that ends every run's output, with "\n". The line contains start and end in
// local time, duration, ranks × nodes of the last attempt, and the result.
std::string last_line(const model::RunRecord& run);

// What the launcher knows when it has lost its connection to the root agent's host. The launcher
// then reports the end of the run, because no other process does.
struct LostRoot {
  std::string host;
  std::string others;  // the hosts whose ranks are ended too, as a list; empty: none
  std::string size;    // "3 hosts"
  std::string look;    // the command that shows whether the host is up: "ssh n0 true"
  WallTime started{};
  WallTime ended{};
  int exit_code = 0;
};
// Returns a message about the lost host. It says what happens on the other hosts, and what the user
// can do.
std::string lost_root_report(const LostRoot& lost, const Style& style);
// Returns a line in the form of last_line(), with "\n".
std::string lost_root_line(const LostRoot& lost);

// Returns the message about a hang for a terminal: a headline, and where the ranks are in their
// code. The message has at most hang::most_lines lines.
std::string hang_text(const model::Hang& hang, std::string_view next);

// Returns "toprun: 12 s, 3 of 4 nodes have joined, not n3", cut to `columns` columns; 0: not cut.
std::string launch_line(const model::Launch& launch, std::size_t columns);

// Returns the file in the folder of --node-log that contains a node's output: DIR/HOST.out.
std::string node_log_path(std::string_view folder, std::string host);

}  // namespace toprun::report
