#pragma once

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <filesystem>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/os/environment.h"
#include "base/text/clock.h"
#include "machine/meter/usage.h"

namespace toprun::meter {

struct NamedGpu {
  std::string uuid;        // "GPU-5c1b…"; empty: unknown
  std::optional<Gpu> gpu;  // unset: it tells nothing, as one that needs a reset

  bool operator==(const NamedGpu&) const = default;
};

// nvidia-smi takes up to a second of a CPU, so it is asked rarely.
inline constexpr std::chrono::seconds between_gpu_looks{10};
inline constexpr std::chrono::seconds after_vain_gpu_look{60};
inline constexpr std::chrono::seconds nvidia_limit{5};

// This host's GPUs in the order of their numbers: of NVIDIA by nvidia-smi where it is in PATH, else
// of AMD as amdgpu shows them in /sys/class/drm below `root`. Blocks.
std::vector<NamedGpu> read_gpus(const Environment& environment, const std::filesystem::path& root);

// The answer of nvidia-smi --query-gpu=uuid,utilization.gpu,memory.used,memory.total
// --format=csv,noheader,nounits: percent and MiB. A line that is not understood is a GPU without
// figures, so that the numbers of the others stay; a warning is not a GPU.
std::vector<NamedGpu> parse_nvidia_smi(std::string_view text);

// The GPU of a rank among all: of those that `visible` (CUDA_VISIBLE_DEVICES or the like; unset:
// all) lists, the one with its local rank, or the only one. nullopt: none, or unknown.
std::optional<std::size_t> gpu_of(std::size_t local_rank, const std::optional<std::string>& visible,
                                  const std::vector<NamedGpu>& gpus);

// What a host's GPUs showed last. Some thread looks at them while others read, since a driver may
// be slow or hang:
//
//   due → begin() → looked at → end() → not due, until between_gpu_looks or after_vain_gpu_look
//   later
class LastGpus {
 public:
  // Whether the caller is to look now, and then to call end(). False while another caller does.
  bool begin(SteadyTime now);
  // Empty: there are none, or the driver did not answer.
  void end(std::vector<NamedGpu> gpus, SteadyTime now);
  // Waits so long for a look that goes on.
  std::vector<NamedGpu> read(std::chrono::milliseconds patience);

 private:
  std::mutex lock_;
  std::condition_variable ended_;
  bool is_looked_at_ = false;
  std::optional<SteadyTime> due_;  // unset: at once
  std::vector<NamedGpu> gpus_;
};

}  // namespace toprun::meter
