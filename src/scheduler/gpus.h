#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "base/environment.h"

namespace toprun::scheduler {

struct GpuCount {
  int count = 0;
  std::string source;  // "CUDA_VISIBLE_DEVICES", "/proc/driver/nvidia/gpus", "no GPU driver" …
};

// GPUs that a process started here would see, as torch.cuda.device_count() counts them, without
// CUDA, ROCm or torch: from the kernel drivers' files below `root`, cut down by the variables.
// Where an NVIDIA GPU is split by MIG the answer is 1, because CUDA shows a process only one
// instance (NVIDIA MIG user guide, "CUDA Device Enumeration"). Never opens a device: that can take
// seconds.
GpuCount visible_gpus(const Environment& environment, const std::filesystem::path& root = "/");

// How many GPUs CUDA_VISIBLE_DEVICES (or, without it, the smaller of HIP_VISIBLE_DEVICES and
// ROCR_VISIBLE_DEVICES) names; nothing if none is set. Read as CUDA reads it: an index that is no
// number, or negative, ends the list ("-1", "NoDevFiles"), an entry given twice empties it.
std::optional<GpuCount> named_gpus(const Environment& environment);

}  // namespace toprun::scheduler
