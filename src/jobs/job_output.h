#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "jobs/folder_watch.h"
#include "jobs/job_files.h"
#include "jobs/log_tail.h"
#include "jobs/remainder.h"

namespace toprun::jobs {

// The files of all tasks of a job that is followed, and what of them was shown. A line that stands
// in the engine's file and in a HOST.out is shown once.
class JobOutput {
 public:
  JobOutput(const scheduler::Queue& queue, LogChoice choice)
      : queue_(queue), choice_(std::move(choice)) {}

  // Shows what is new. False: nothing was. Error: stdout is closed, or the choice fits no file.
  Result<bool> show(const std::map<std::string, scheduler::Job>& jobs, FolderWatch& watch);
  // The job has ended: the lines that were begun and not ended, and what waited for a host.
  Result<void> show_rests();
  std::size_t files() const { return tails_.size(); }
  // All files lie where they are seen as soon as they are written.
  bool is_local() const;
  // Why there is nothing to show, so far.
  const std::optional<Error>& trouble() const { return trouble_; }

 private:
  enum class Lines { bytes, whole, each_once };

  void look_for_files(const std::map<std::string, scheduler::Job>& jobs, FolderWatch& watch);
  void add(const scheduler::Job& job, const LogFile& file, Lines lines, bool several_jobs);
  std::string prefix_of(const scheduler::Job& job, const LogFile& file, bool several_jobs) const;
  Result<void> show_remainders(SteadyTime until);

  const scheduler::Queue& queue_;
  const LogChoice choice_;
  std::map<std::string, LogTail> tails_;         // by path
  std::vector<std::string> order_;               // as the files were found
  std::map<std::string, Remainder> remainders_;  // by job
  std::optional<Error> trouble_;
};

}  // namespace toprun::jobs
