#pragma once

#include <optional>
#include <string>
#include <vector>

#include "agent/exit.h"
#include "view/report.h"

namespace toprun::run {

// Why an attempt ended as it did.
struct Verdict {
  int exit_code = 0;
  // Unset: every rank ended with 0. `interrupted` by a signal to the job, or to the one agent on
  // `node`, which left.
  std::optional<view::CauseKind> kind;
  std::string node;
  std::string message;
  std::optional<agent::WorkerExit>
      exit;  // for exit, signal and hang: of the rank that failed first
  std::vector<agent::WorkerExit> absent;  // for hang: the ranks that did not come to a collective
  // All that were reported; kept until the next attempt has ended.
  std::vector<agent::WorkerExit> exits;
  bool told_to_end = false;  // the job has to end, whatever else happened
};

}  // namespace toprun::run
