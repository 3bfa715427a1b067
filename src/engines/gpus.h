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

// Returns the vendor of this host's GPUs. If NVIDIA's and AMD's drivers both list GPUs, returns
// NVIDIA.
GpuVendor gpu_vendor(const std::filesystem::path& root = "/");

// Counts the GPUs that a process started here would see, as torch.cuda.device_count() counts them.
// Needs no CUDA, ROCm or torch: the kernel drivers' files below `root` list the GPUs, and variables
// such as CUDA_VISIBLE_DEVICES reduce the list. If an NVIDIA GPU is split by MIG, the result is 1,
// because CUDA shows a process only one instance (NVIDIA MIG user guide, "CUDA Device
// Enumeration"). Never opens a device, because that can take seconds.
GpuCount visible_gpus(const Environment& environment, const std::filesystem::path& root = "/");

struct GpuShare {
  int container = 0;  // GPUs of this container
  int machine = 0;    // GPUs of the container's machine; 0: unknown
};

// Counts the GPUs of this container and of its machine. Ignores variables that choose among the
// container's GPUs (CUDA_VISIBLE_DEVICES). The machine's number of GPUs is the number of PCI
// devices of NVIDIA's driver. sysfs lists all these devices even in a container. /dev does not list
// all of them, and with NVIDIA's container runtime, /proc/driver/nvidia/gpus does not list all of
// them. AMD's drivers also list GPUs that are part of CPUs, so with AMD's drivers the machine's
// number is 0.
GpuShare gpu_share(const Environment& environment, const std::filesystem::path& root = "/");

// Returns the PCI addresses ("0000:0f:00.0") of the GPUs that a process started here would see, in
// CUDA's (ROCm's) order. If all GPUs are of one model, they are in the order of their addresses.
// GPUs that CUDA_VISIBLE_DEVICES etc. exclude are left out. Empty: there is no GPU. Error: there
// are GPUs, but the driver does not report their addresses. The addresses come from
// /proc/driver/nvidia/gpus (NVIDIA driver README, "The /proc file system interface") and from
// domain and location_id in the KFD topology.
Result<std::vector<std::string>> gpu_addresses(const Environment& environment,
                                               const std::filesystem::path& root = "/");

// Counts the GPUs in CUDA_VISIBLE_DEVICES. If this variable is unset, returns the smaller of the
// GPU counts in HIP_VISIBLE_DEVICES and ROCR_VISIBLE_DEVICES. nullopt if no variable is set. The
// list is parsed as in CUDA: the list ends before an index that is negative or not a number ("-1",
// "NoDevFiles"). If an entry is repeated, the list is empty.
std::optional<GpuCount> named_gpus(const Environment& environment);

}  // namespace toprun::engines
