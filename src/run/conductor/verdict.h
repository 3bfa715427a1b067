#pragma once

#include <optional>
#include <string>
#include <vector>

#include "run/model/exit.h"
#include "run/model/record.h"

namespace toprun::run {

// The result of an attempt and its reason.
struct Verdict {
  int exit_code = 0;
  // Unset: every rank exited with 0. `interrupted`: a signal reached the job, or it reached only
  // the agent on `node`, which left.
  std::optional<model::CauseKind> kind;
  std::string node;
  std::string message;
  std::optional<model::WorkerExit> exit;  // for exit, signal and hang: the rank that failed first
  // For hang: the ranks that did not join a collective. For ended_early: the ranks that had ended.
  std::vector<model::WorkerExit> absent;
  std::string meanwhile;  // for ended_early: what the other ranks did
  // All reported exits. The exits are kept until the next attempt has ended.
  std::vector<model::WorkerExit> exits;
  bool ordered_to_end = false;  // the job must end, regardless of other events
};

}  // namespace toprun::run
