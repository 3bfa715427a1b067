#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/text/error.h"

namespace toprun::worker {

// The CPUs to which worker `i` is bound, near GPU `i`. (On a machine without GPUs, see bind().)
// `node`: the CPUs of the GPU's NUMA node. `socket`: the CPUs of the GPU's socket. `exclusive`: the
// GPU's share of the NUMA node's cores. `core_complex`: the cores of one last-level cache. The
// result is the same as torchrun's (torch/numa/binding.py, PyTorch 2.13). Like torchrun, toprun
// binds only CPUs, because the kernel allocates memory on the node of the CPU that touches it
// first.
enum class NumaBinding { node, socket, exclusive, core_complex };

inline constexpr int unknown = -1;

// A logical CPU. Fields that /sys does not report are `unknown`.
struct Cpu {
  int number = 0;
  int node = 0;
  int socket = unknown;
  int core = unknown;   // the lowest CPU of the same physical core
  int cache = unknown;  // the lowest CPU that shares the last-level data cache
};

// The CPUs and GPUs that a node's workers may use.
struct Machine {
  std::vector<Cpu> cpus;       // only allowed CPUs, ascending
  std::vector<int> gpu_nodes;  // the NUMA node of each GPU
};

// Reads the CPUs in `allowed` and the GPUs with these PCI addresses from /sys below `root`. A GPU
// for which /sys reports no NUMA node gets node 0, because such a machine has only that node.
Result<Machine> read_machine(const std::vector<int>& allowed,
                             const std::vector<std::string>& gpu_addresses,
                             const std::filesystem::path& root = "/");

struct Binding {
  std::vector<int> cpus;  // ascending, never empty
  int node = 0;
};

// Returns the CPUs of the worker with this local rank, which uses the GPU with the same index. On a
// machine without GPUs, the local ranks are spread evenly over the NUMA nodes that have allowed
// CPUs: neighbouring ranks are on the same node if possible, and each rank counts as a GPU of its
// node. NUMA nodes without an allowed CPU are ignored (torchrun fails if there are any).
Result<Binding> bind(const Machine& machine, NumaBinding mode, int local_rank,
                     int local_world_size);

// Parses the kernel's list format (Documentation/admin-guide/cputopology.rst): "0-3,8". Null if the
// text is malformed or names more CPUs than any kernel supports.
std::optional<std::vector<int>> parse_cpu_list(std::string_view text);
// Writes the CPUs in this format.
std::string cpu_list(const std::vector<int>& cpus);

}  // namespace toprun::worker
