#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "base/os/environment.h"
#include "base/text/error.h"

namespace toprun::engines {

struct GpuCount {
  int count = 0;
  std::string source;  // "CUDA_VISIBLE_DEVICES", "/proc/driver/nvidia/gpus", "no GPU driver" …
};

enum class GpuVendor { none, nvidia, amd };

// Whose driver runs here; NVIDIA's comes first.
GpuVendor gpu_vendor(const std::filesystem::path& root = "/");

// GPUs that a process started here would see, as torch.cuda.device_count() counts them, without
// CUDA, ROCm or torch: from the kernel drivers' files below `root`, cut down by the variables.
// Where an NVIDIA GPU is split by MIG the answer is 1, because CUDA shows a process only one
// instance (NVIDIA MIG user guide, "CUDA Device Enumeration"). Never opens a device: that can take
// seconds.
GpuCount visible_gpus(const Environment& environment, const std::filesystem::path& root = "/");

struct GpuShare {
  int container = 0;  // GPUs that this container was given
  int machine = 0;    // … that its machine has; 0: cannot be seen
};

// Variables that choose among the container's GPUs (CUDA_VISIBLE_DEVICES) do not count. The
// machine's: the PCI devices of NVIDIA's driver, which sysfs lists in containers too, unlike /dev
// and, below NVIDIA's container runtime, /proc/driver/nvidia/gpus. AMD's drivers list graphics of
// CPUs as well, so there it is 0.
GpuShare gpu_share(const Environment& environment, const std::filesystem::path& root = "/");

// The PCI addresses ("0000:0f:00.0") of the GPUs that a process started here would see, in CUDA's
// (ROCm's) order: by address, as it is among GPUs of one model, cut down by the variables. Empty if
// there is no GPU; an error if there are some and the driver does not tell where they sit. A source
// of addresses: /proc/driver/nvidia/gpus (NVIDIA driver README, "The /proc file system interface"),
// the KFD topology's domain and location_id.
Result<std::vector<std::string>> gpu_addresses(const Environment& environment,
                                               const std::filesystem::path& root = "/");

// How many GPUs CUDA_VISIBLE_DEVICES (or, without it, the smaller of HIP_VISIBLE_DEVICES and
// ROCR_VISIBLE_DEVICES) names; nothing if none is set. Read as CUDA reads it: an index that is not
// a number, or negative, ends the list ("-1", "NoDevFiles"), an entry given twice empties it.
std::optional<GpuCount> named_gpus(const Environment& environment);

}  // namespace toprun::engines
