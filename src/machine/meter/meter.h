#pragma once

#include <sys/types.h>

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/os/environment.h"
#include "base/text/clock.h"
#include "machine/meter/usage.h"

namespace toprun::meter {

struct NamedGpu {
  std::string uuid;        // "GPU-5c1b…"; empty: unknown
  std::optional<Gpu> gpu;  // unset: the GPU reports no values, for example because it needs a reset

  bool operator==(const NamedGpu&) const = default;
};

// The pauses between two reads of the GPUs: the normal one, and one after a read that found no
// GPUs. Because nvidia-smi takes up to a second of CPU time, it runs rarely.
inline constexpr std::chrono::seconds between_gpu_looks{10};
inline constexpr std::chrono::seconds after_vain_gpu_look{60};
inline constexpr std::chrono::seconds nvidia_limit{5};

// Reads this host's GPUs, in the order of their numbers. NVIDIA GPUs come from nvidia-smi if it is
// in PATH. Without nvidia-smi, AMD GPUs are read from amdgpu's files in /sys/class/drm below
// `root`. Blocks.
std::vector<NamedGpu> read_gpus(const Environment& environment, const std::filesystem::path& root);

// Parses the output of nvidia-smi --query-gpu=uuid,utilization.gpu,memory.used,memory.total
// --format=csv,noheader,nounits, with values in percent and MiB. A malformed line becomes a GPU
// without values, so that the other GPUs keep their numbers. A line with a warning does not count
// as a GPU.
std::vector<NamedGpu> parse_nvidia_smi(std::string_view text);

// Returns the index of a rank's GPU in `gpus`. If `visible` is unset, this index is the local rank.
// Otherwise `visible` is a list of GPUs as in CUDA_VISIBLE_DEVICES: the local rank is a position in
// this list, unless the list has only one entry. nullopt: the rank has no GPU, or its GPU is
// unknown.
std::optional<std::size_t> gpu_of(std::size_t local_rank, const std::optional<std::string>& visible,
                                  const std::vector<NamedGpu>& gpus);

// The latest values of a host's GPUs. One thread reads the GPUs while other threads use the last
// values, because a driver may be slow or hang.
//
// The states:
//   due → begin() → reading → end() → not due, until between_gpu_looks or after_vain_gpu_look
//   later
class LastGpus {
 public:
  // Whether the caller has to read the GPUs at once, and call end() afterwards. False if another
  // caller is reading them, or if it is too early for the next read.
  bool begin(SteadyTime now);
  // Stores the values that the caller has read. Empty `gpus`: the host has no GPUs, or the driver
  // did not answer.
  void end(std::vector<NamedGpu> gpus, SteadyTime now);
  // Returns the latest values. If another thread is reading the GPUs, waits for the new values, at
  // most `patience`.
  std::vector<NamedGpu> read(std::chrono::milliseconds patience);

 private:
  std::mutex lock_;
  std::condition_variable ended_;
  bool is_looked_at_ = false;
  std::optional<SteadyTime> due_;  // unset: at once
  std::vector<NamedGpu> gpus_;
};

// Measures the resource usage of ranks and of this host. Each measurement reads a few files in
// /proc and /sys for each process and may block. So call look() on the thread pool, from one thread
// at a time.
class Meter {
 public:
  // `root`: the folder that contains proc and sys.
  explicit Meter(std::filesystem::path root = "/");

  // Measures once. `ranks`: process ids on this host by local rank; 0: unknown. Rates are averages
  // since the previous call.
  Node look(std::span<const pid_t> ranks);

 private:
  using Time = std::chrono::steady_clock::time_point;
  // Counters that only increase; rates are computed from them.
  struct Totals {
    std::uint64_t busy_ticks = 0;  // for the host's CPUs
    std::uint64_t received_bytes = 0, sent_bytes = 0;
  };
  Rank rank(pid_t pid, double seconds);
  Host host(double seconds);
  Totals totals() const;

  std::filesystem::path root_;
  Time last_{};
  std::map<pid_t, std::uint64_t> ticks_;  // of the ranks, at the previous measurement
  std::map<pid_t, std::uint64_t> now_;    // of the ranks, at this measurement
  std::optional<Totals> totals_;
};

}  // namespace toprun::meter
