#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/os/fd.h"
#include "cli/jobs/job_files.h"
#include "cli/jobs/log_tail.h"

namespace toprun::jobs {

// Wakes a caller that waits for output when a file in the folders is written. If the file system
// does not report writes, the caller has to poll.
class FolderWatch {
 public:
  FolderWatch();

  int fd() const { return fd_.get(); }
  void add(const std::string& folder);
  void forget_news();

 private:
  Fd fd_;
  std::set<std::string> watched_;
};

// Shows the growing output files of all tasks of a job. A line that is in both the engine's output
// file and a host's output file (HOST.out) is shown only once.
class JobOutput {
 public:
  // `forgotten`: tasks of an array that the engine has forgotten; only their files are known.
  JobOutput(const engines::Queue& queue, LogChoice choice, std::vector<FoundFiles> forgotten = {})
      : queue_(queue), choice_(std::move(choice)), forgotten_(std::move(forgotten)) {}

  // Shows new text. Returns true if there was new text. Error: stdout is closed, or no file matches
  // LogChoice.
  Result<bool> show(const JobsById& jobs, FolderWatch& watch);
  // Call show_rests() after the job's end. Shows unfinished lines, and lines of the engine's file
  // that were held back because a host's file might contain them too.
  Result<void> show_rests();
  std::size_t files() const { return tails_.size(); }
  // Whether all files are on file systems where writes are visible immediately.
  bool is_local() const;
  // Why the last show() found no output of the job yet.
  const std::optional<Error>& trouble() const { return trouble_; }
  // Set if jobs run, but none has the chosen node or rank, so the chosen output can never appear.
  const std::optional<Error>& refusal() const { return refusal_; }

 private:
  enum class Lines { bytes, whole, each_once };

  void look_for_files(const JobsById& jobs, FolderWatch& watch);
  void look_for_forgotten(bool several_jobs);
  void add(const std::string& id, const LogFile& file, Lines lines, bool several_nodes,
           bool several_jobs);
  std::string prefix_of(const std::string& id, const LogFile& file, bool several_nodes,
                        bool several_jobs) const;
  Result<void> show_remainders(SteadyTime until);

  const engines::Queue& queue_;
  const LogChoice choice_;
  const std::vector<FoundFiles> forgotten_;
  std::map<std::string, LogTail> tails_;         // by path
  std::vector<std::string> order_;               // in the order in which the files were found
  std::map<std::string, Remainder> remainders_;  // by job
  // When the first show() had read all existing output. LogChoice::last_lines limits only this
  // output.
  std::optional<SteadyTime> first_look_ended_;
  bool old_remainders_shown_ = false;
  std::optional<Error> trouble_;
  std::optional<Error> refusal_;
};

}  // namespace toprun::jobs
