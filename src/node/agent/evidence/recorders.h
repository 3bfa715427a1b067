#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "base/os/environment.h"
#include "decide/recorder/summary.h"

namespace toprun::evidence {

// PyTorch's flight recorders (torch/csrc/distributed/c10d/ProcessGroupNCCL.cpp, DumpPipe). If
// PyTorch's flight recorder has a buffer, a rank that uses NCCL creates the named pipe
// TORCH_NCCL_DEBUG_INFO_PIPE_FILE + rank + ".pipe" and reads it once a second. A byte in the pipe
// makes the rank write its dump to TORCH_FR_DUMP_TEMP_FILE + rank (in older versions:
// TORCH_NCCL_DEBUG_INFO_TEMP_FILE). The rank keeps running.

// Sets the variables with which the ranks of one attempt create pipes and dumps. The pipes are in
// `folder` and the dumps in `dumps`, unless the user has set other paths. Creates `folder` so that
// only this user can access it. If no named pipe can be created in `folder`, this function sets no
// variable, because PyTorch would abort if it cannot create the pipe.
void let_recorders_listen(Environment& environment, const std::string& folder,
                          const std::optional<std::string>& dumps);

// The files of one rank's flight recorder.
struct RecorderFiles {
  int rank = 0;
  std::string pipe;  // empty: the rank has no pipe
  // The possible paths of the rank's dump, which depend on the PyTorch version.
  std::vector<std::string> dumps;
};
// Determines the paths of the rank's files from `environment`, the rank's own environment.
RecorderFiles recorder_files(int rank, const Environment& environment);

// Returns the entries of `all` whose pipe exists. May block on a slow file system.
std::vector<RecorderFiles> listening(std::vector<RecorderFiles> all);
// Asks the ranks for their dumps and summarizes the dumps that arrive within the limit. Blocks at
// most for the limit, even if a file hangs.
recorder::Summary ask_recorders(std::vector<RecorderFiles> all, std::chrono::milliseconds limit);

}  // namespace toprun::evidence
