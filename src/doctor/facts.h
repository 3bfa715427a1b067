#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/environment.h"
#include "fabric/settings.h"
#include "fabric/sysfs.h"

namespace toprun::doctor {

struct Space {
  std::string path;
  std::uint64_t total_bytes = 0;
  std::uint64_t free_bytes = 0;
  bool is_writable = true;
};

// A GPU as nvidia-smi describes it.
struct Gpu {
  std::string index;
  bool is_persistent = false;
  std::optional<std::int64_t> uncorrected_errors{};  // since the driver was loaded; none: no ECC
};

// What the checks look at. nullopt: it cannot be known here, and is then held against nobody.
struct Facts {
  fabric::NodeFabric network;
  int gpu_functions = 0;           // by PCI
  bool has_verbs_devices = false;  // /dev/infiniband/uverbs*
  bool has_peer_memory = false;    // the kernel module by which adapters reach GPU memory
  // Of this process; nullopt: unlimited, or privileges go before the limit.
  std::optional<std::int64_t> open_files, processes, locked_bytes;
  std::optional<Space> shm, temporary;
  std::optional<std::int64_t> free_ports;      // that the kernel may give to connections
  std::optional<std::int64_t> listen_backlog;  // net.core.somaxconn
  std::optional<std::int64_t> memory_limit_bytes, memory_used_bytes;  // of the cgroup
  std::optional<bool> clock_is_synchronised;
  std::vector<Gpu> gpus;
  std::string gpu_trouble;  // why nvidia-smi did not answer
};

// Of this machine, or of the copy below `root`, which has no limits, clock or GPUs of its own.
// Blocks for a few milliseconds; where NVIDIA's driver is loaded up to gpu_limit more.
Facts read_facts(const fabric::Sysfs& sysfs, bool is_this_machine, const Environment& environment);

// "0, Enabled, 0" lines of nvidia-smi --query-gpu=index,persistence_mode,
// ecc.errors.uncorrected.volatile.total --format=csv,noheader.
std::vector<Gpu> parse_gpus(std::string_view text);

}  // namespace toprun::doctor
