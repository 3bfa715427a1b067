#pragma once

#include <memory>
#include <optional>
#include <string>

#include <boost/asio/awaitable.hpp>

#include "base/os/pool.h"
#include "node/plan/job.h"
#include "run/conductor/course.h"
#include "run/model/record.h"

namespace toprun::publish {

// Returns why the attempt with this verdict failed; nullopt if the attempt did not fail.
std::optional<model::Cause> cause_in(const run::Verdict& verdict);

// Returns the name that the job's user chose; empty: none.
std::string title_of(const plan::Job& job);

// Returns the content of the --report file, for a run that is over or still running.
model::RunRecord record_of(const plan::Job& job, const run::Course& course);

// How long the end of a run waits for a file system that does not accept the --report file.
inline constexpr std::chrono::seconds report_limit{10};

// The --report file. The pool writes one version of the file at a time, so that no version replaces
// a newer version. If several versions arrive during a write, only the newest of them is written.
class ReportFile {
 public:
  // Without a path, this object writes nothing. `again`: an earlier run of the same job may have
  // written the file. The new file then also says how that run ended.
  ReportFile(Pool& pool, std::optional<std::string> path, bool again);

  // Writes a version of the file while the run continues. The record's last attempt may not have
  // ended yet. If the file cannot be written, prints a message on stderr, but only once.
  void keep(model::RunRecord record);
  // Writes the last version. If the file cannot be written within report_limit, prints a message on
  // stderr.
  boost::asio::awaitable<void> finish(model::RunRecord record);

 private:
  struct State;
  static void write(const std::shared_ptr<State>& state, model::RunRecord record);

  std::shared_ptr<State> state_;
};

}  // namespace toprun::publish
