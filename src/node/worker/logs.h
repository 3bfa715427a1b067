#pragma once

#include <optional>
#include <string>

#include "base/os/environment.h"
#include "base/text/error.h"

namespace toprun::worker {

// The paths of one worker's files in one attempt. An empty path means that there is no such file.
struct WorkerFiles {
  std::string stdout_log = {};
  std::string stderr_log = {};
  std::string error_json = {};
  std::string nccl_log = {};  // for NCCL_DEBUG_FILE
};

// The folder of one agent's logs, in torchrun's layout:
//   <log_dir>/<run id>_<8 random>/attempt_<n>/<local rank>/{stdout.log,stderr.log,error.json}
//                                            /{filtered_stdout.log,filtered_stderr.log}
// Each run creates its own private folder and in it one folder per attempt, so earlier files never
// change. Without a log_dir, a temporary folder holds only error files and NCCL's log lines:
//   <temporary folder>/attempt_<n>/<local rank>_{error.json,nccl.log}
// The object removes the temporary folder; if the agent is killed, the keeper removes it.
class Logs {
 public:
  // Creates `log_dir` and its parents if they are missing. `environment` determines the temporary
  // folder (TMPDIR). If the temporary folder is not writable, workers have no error files.
  static Result<Logs> create(const std::optional<std::string>& log_dir, const std::string& run_id,
                             const Environment& environment);
  // Uses a folder that the caller creates and removes, for error files only.
  static Result<Logs> within(std::string folder);
  Logs(Logs&& other) noexcept;
  Logs& operator=(Logs&& other) = delete;
  ~Logs();

  // Creates the folder for one worker's files and returns their paths.
  Result<WorkerFiles> worker(int attempt, int local_rank) const;
  // Returns the path of the file with the lines that a filter selects from the output of all
  // workers in an attempt. Empty if no files are kept.
  std::string filtered_log(int attempt, bool is_err) const;
  // Whether the files stay after the run, which is the case if --log-dir was given.
  bool kept() const { return kept_; }
  // The folder of this agent's files; empty if the agent has no folder.
  const std::string& folder() const { return folder_; }

 private:
  Logs(std::string folder, bool kept, bool owned)
      : folder_(std::move(folder)), kept_(kept), owned_(owned) {}

  std::string folder_;
  bool kept_ = false;
  bool owned_ = false;  // this object removes the folder
};

}  // namespace toprun::worker
