#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"

namespace toprun::agent {

// To which CPUs worker `i` is bound, by where GPU `i` (or, without GPUs, a share of the machine)
// is: those of its NUMA node, of its socket, its own share of the NUMA node's cores, or the cores
// that share one last-level cache. The same CPUs as torchrun's (torch/numa/binding.py,
// PyTorch 2.13), which also binds CPUs only: memory follows, as the kernel takes it from the node
// of the CPU that first touches it.
enum class NumaBinding { node, socket, exclusive, core_complex };

inline constexpr int unknown = -1;

// A logical CPU. What /sys does not tell of it is `unknown`.
struct Cpu {
  int number = 0;
  int node = 0;
  int socket = unknown;
  int core = unknown;   // the lowest CPU of the same physical core
  int cache = unknown;  // the lowest CPU that shares the last-level data cache
};

// What a node's workers may use of the machine.
struct Machine {
  std::vector<Cpu> cpus;       // allowed ones only, ascending
  std::vector<int> gpu_nodes;  // the NUMA node of each GPU
};

// From /sys below `root`: of the CPUs that `allowed` holds, and of the GPUs with these PCI
// addresses. A GPU without a node is on node 0, as the only one there is.
Result<Machine> read_machine(const std::vector<int>& allowed,
                             const std::vector<std::string>& gpu_addresses,
                             const std::filesystem::path& root = "/");

struct Binding {
  std::vector<int> cpus;  // ascending, never empty
  int node = 0;
};

// The CPUs of the worker with this local rank, which uses the GPU of that index. On a machine
// without GPUs the local ranks are spread evenly over the NUMA nodes that have allowed CPUs,
// neighbours together, and count as the GPUs of those nodes. Nodes without an allowed CPU do not
// hinder others (torchrun fails with them).
Result<Binding> bind(const Machine& machine, NumaBinding mode, int local_rank,
                     int local_world_size);

// The kernel's list format (Documentation/admin-guide/cputopology.rst): "0-3,8". Null if malformed
// or of more CPUs than any kernel has.
std::optional<std::vector<int>> parse_cpu_list(std::string_view text);
std::string cpu_list(const std::vector<int>& cpus);

}  // namespace toprun::agent
