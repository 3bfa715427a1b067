#include "node/ending.h"

#include <fmt/format.h>

#include "base/console.h"
#include "node/node_log.h"
#include "show/record.h"

namespace toprun::node {

std::string summary(const plan::Job& job, const run::Course& course) {
  return view::last_line(show::record_of(job, course));
}

void tell_the_failure(const plan::Job& job, const run::AttemptCourse& attempt) {
  const run::Verdict& verdict = attempt.verdict;
  const auto cause = show::cause_in(verdict);
  if (!cause) return;
  if (cause->node.empty() && !cause->rank) return say(cause->message);
  const agent::WorkerExit* exit = nullptr;
  for (const agent::WorkerExit& one : verdict.exits) {
    if (cause->rank == one.rank) exit = &one;
  }
  say_block(view::failure_report(*cause, view::count_others(verdict.exits, exit),
                                 job.options.log_dir.value_or(""), look_of_stderr(job.environment),
                                 node_log_path(job.options, cause->node).value_or("")));
}

}  // namespace toprun::node
