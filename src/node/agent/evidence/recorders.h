#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "base/os/environment.h"
#include "decide/recorder/summary.h"

namespace toprun::evidence {

// PyTorch's flight recorders (torch/csrc/distributed/c10d/ProcessGroupNCCL.cpp, DumpPipe). If its
// recorder has a buffer, a rank with NCCL makes the named pipe
// TORCH_NCCL_DEBUG_INFO_PIPE_FILE + rank + ".pipe" and looks at it once a second; a byte in it
// makes the rank write its dump to TORCH_FR_DUMP_TEMP_FILE + rank (older:
// TORCH_NCCL_DEBUG_INFO_TEMP_FILE). The rank goes on.

// Has the ranks of one attempt make their pipes in `folder`, which is made for this user alone, and
// write their dumps to `dumps`, unless the user has named others. Nothing is set where a named pipe
// cannot be made: PyTorch would end there.
void let_recorders_listen(Environment& environment, const std::string& folder,
                          const std::optional<std::string>& dumps);

// The files of a rank's recorder.
struct RecorderFiles {
  int rank = 0;
  std::string pipe;                // empty: it has none
  std::vector<std::string> dumps;  // where its dump may come, by its version
};
// By the rank's own environment.
RecorderFiles recorder_files(int rank, const Environment& environment);

// Those whose pipe is there. Blocks as files do.
std::vector<RecorderFiles> listening(std::vector<RecorderFiles> all);
// Asks them for their dumps and sums up those that come within the limit. Blocks that long at most:
// files that hang are left behind.
recorder::Summary ask_recorders(std::vector<RecorderFiles> all, std::chrono::milliseconds limit);

}  // namespace toprun::evidence
