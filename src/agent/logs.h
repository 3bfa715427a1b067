#pragma once

#include <optional>
#include <string>

#include "base/environment.h"
#include "base/error.h"

namespace toprun::agent {

// The files of one worker in one attempt. A path is empty where there is no such file.
struct WorkerFiles {
  std::string stdout_log = {};
  std::string stderr_log = {};
  std::string error_json = {};
};

// The folder of one agent's logs, in torchrun's layout:
//   <log_dir>/<run id>_<8 random>/attempt_<n>/<local rank>/{stdout.log,stderr.log,error.json}
//                                            /{filtered_stdout.log,filtered_stderr.log}
// Each run makes a private folder of its own and each attempt one inside: nothing earlier changes.
// Without a log_dir it is a temporary folder for error files only, error_<attempt>_<local
// rank>.json, with none inside (each costs 0.2 ms to make and remove). It goes with the object, or
// with the keeper if the agent is killed.
class Logs {
 public:
  // `log_dir` and its parents are made if missing. `environment` tells where temporary files go
  // (TMPDIR); if nothing there can be written, workers have no error files.
  static Result<Logs> create(const std::optional<std::string>& log_dir, const std::string& run_id,
                             const Environment& environment);
  // In a folder that somebody else made and removes: for error files only.
  static Result<Logs> within(std::string folder);
  Logs(Logs&& other) noexcept;
  Logs& operator=(Logs&& other) = delete;
  ~Logs();

  // Where one worker's files go; what they are in is made.
  Result<WorkerFiles> worker(int attempt, int local_rank) const;
  // The file in an attempt's folder for lines of all its workers that a filter picks; empty if no
  // files are kept.
  std::string filtered_log(int attempt, bool is_err) const;
  // True if files are kept: --log-dir was given.
  bool kept() const { return kept_; }
  // Where this agent's files are; empty if there is no folder.
  const std::string& folder() const { return folder_; }

 private:
  Logs(std::string folder, bool kept, bool owned)
      : folder_(std::move(folder)), kept_(kept), owned_(owned) {}

  std::string folder_;
  bool kept_ = false;
  bool owned_ = false;  // removed with the object
};

}  // namespace toprun::agent
