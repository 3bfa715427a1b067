#include "node/worker/binding.h"

#include <algorithm>
#include <map>

#include "base/os/files.h"
#include "base/text/text.h"
#include "node/worker/spawn/spawn.h"

namespace toprun::worker {
namespace {

namespace fs = std::filesystem;

constexpr const char* no_binding =
    "leave out --numa-binding, or run on a machine where /sys shows this";

std::optional<int> read_int(const fs::path& path) {
  const auto text = read_file(path);
  const auto number = text ? parse_int(trim(*text)) : std::nullopt;
  return number ? std::optional(static_cast<int>(*number)) : std::nullopt;
}

std::vector<int> read_list(const fs::path& path) {
  const auto text = read_file(path);
  return text ? parse_cpu_list(*text).value_or(std::vector<int>{}) : std::vector<int>{};
}

// The CPUs that share this CPU's last-level data cache.
std::vector<int> last_level_cache(const fs::path& cpu) {
  int highest = unknown;
  fs::path found;
  std::error_code error;
  for (fs::directory_iterator i(cpu / "cache", error), end; !error && i != end;
       i.increment(error)) {
    const auto type = read_file(i->path() / "type");
    const auto level = read_int(i->path() / "level");
    if (!type || !level || trim(*type) == "Instruction" || *level <= highest) continue;
    highest = *level;
    found = i->path() / "shared_cpu_list";
  }
  return found.empty() ? std::vector<int>{} : read_list(found);
}

// Sets `field` of all group members to the group's lowest CPU, so that each group is read once.
void mark(std::map<int, Cpu>& cpus, const std::vector<int>& group, int Cpu::*field) {
  for (const int number : group) {
    const auto found = cpus.find(number);
    if (found != cpus.end()) found->second.*field = group.front();
  }
}

Result<std::map<int, Cpu>> read_nodes(const std::vector<int>& allowed, const fs::path& root) {
  const fs::path folder = root / "sys/devices/system/node";
  std::map<int, Cpu> cpus;
  std::error_code error;
  for (fs::directory_iterator i(folder, error), end; !error && i != end; i.increment(error)) {
    const std::string name = i->path().filename();
    if (!name.starts_with("node")) continue;
    const auto node = parse_int(std::string_view(name).substr(4));
    if (!node) continue;
    for (const int number : read_list(i->path() / "cpulist")) {
      if (!std::ranges::binary_search(allowed, number)) continue;
      cpus[number].number = number;
      cpus[number].node = static_cast<int>(*node);
    }
  }
  if (cpus.empty()) {
    return fail("--numa-binding", fmt::format("toprun may not use any CPU in {}", folder.string()),
                no_binding);
  }
  return cpus;
}

std::vector<int> spread_over_nodes(const std::vector<Cpu>& cpus, int ranks) {
  std::vector<int> nodes;
  for (const Cpu& cpu : cpus) nodes.push_back(cpu.node);
  std::ranges::sort(nodes);
  const auto repeated = std::ranges::unique(nodes);
  nodes.erase(repeated.begin(), repeated.end());
  std::vector<int> homes;
  for (int rank = 0; rank < ranks; ++rank) {
    homes.push_back(
        nodes[static_cast<std::size_t>(rank) * nodes.size() / static_cast<std::size_t>(ranks)]);
  }
  return homes;
}

// A worker's position among the workers of its NUMA node.
struct Position {
  int node = 0;
  std::size_t index = 0;
  std::size_t sharers = 0;
  std::vector<Cpu> cpus;  // the CPUs of that node
};

std::vector<int> numbers(const std::vector<Cpu>& cpus) {
  std::vector<int> out;
  for (const Cpu& cpu : cpus) out.push_back(cpu.number);
  return out;
}

using Groups = std::map<int, std::vector<int>>;

Result<Groups> group_by(const Position& position, int Cpu::*field, std::string_view what) {
  Groups groups;
  for (const Cpu& cpu : position.cpus) {
    if (cpu.*field == unknown) {
      return fail("--numa-binding",
                  fmt::format("/sys does not show the {} of CPU {}", what, cpu.number),
                  "use --numa-binding node");
    }
    groups[cpu.*field].push_back(cpu.number);
  }
  return groups;
}

Result<std::vector<int>> socket_of(const Machine& machine, const Position& position) {
  const int socket = position.cpus.front().socket;
  if (socket == unknown) {
    return fail(
        "--numa-binding",
        fmt::format("/sys does not show the socket of CPU {}", position.cpus.front().number),
        "use --numa-binding node");
  }
  // Treats NUMA nodes as indivisible; each belongs to the socket of its first CPU.
  std::map<int, int> socket_of_node;
  for (const Cpu& cpu : machine.cpus) socket_of_node.emplace(cpu.node, cpu.socket);
  std::vector<int> cpus;
  for (const Cpu& cpu : machine.cpus) {
    if (socket_of_node.at(cpu.node) == socket) cpus.push_back(cpu.number);
  }
  return cpus;
}

// Divides the node's cores into equal shares; any remainder gives the first shares one core more.
Result<std::vector<int>> own_share(const Position& position) {
  const auto cores = TRY(group_by(position, &Cpu::core, "physical core"));
  const std::size_t share = cores.size() / position.sharers;
  const std::size_t larger = cores.size() % position.sharers;
  if (share == 0) {
    return fail("--numa-binding exclusive",
                fmt::format("NUMA node {} has {} usable cores for {} workers", position.node,
                            cores.size(), position.sharers),
                "use --numa-binding node");
  }
  const std::size_t begin = position.index * share + std::min(position.index, larger);
  const std::size_t end = begin + share + (position.index < larger ? 1 : 0);
  std::vector<int> cpus;
  std::size_t i = 0;
  for (const auto& [core, siblings] : cores) {
    if (i >= begin && i < end) cpus.insert(cpus.end(), siblings.begin(), siblings.end());
    ++i;
  }
  std::ranges::sort(cpus);
  return cpus;
}

// Assigns the core complexes in turn, those with the most usable CPUs first.
Result<std::vector<int>> own_complex(const Position& position) {
  const auto caches = TRY(group_by(position, &Cpu::cache, "last-level cache"));
  std::vector<std::vector<int>> complexes;
  for (const auto& [cache, cpus] : caches) complexes.push_back(cpus);
  std::ranges::stable_sort(complexes, std::greater{}, &std::vector<int>::size);
  return complexes[position.index % complexes.size()];
}

Result<std::vector<int>> cpus_for(const Machine& machine, NumaBinding mode,
                                  const Position& position) {
  switch (mode) {
    case NumaBinding::node:
      return numbers(position.cpus);
    case NumaBinding::socket:
      return socket_of(machine, position);
    case NumaBinding::exclusive:
      return own_share(position);
    case NumaBinding::core_complex:
      return own_complex(position);
  }
  return numbers(position.cpus);
}

}  // namespace

Result<Machine> read_machine(const std::vector<int>& allowed,
                             const std::vector<std::string>& gpu_addresses, const fs::path& root) {
  auto cpus = TRY(read_nodes(allowed, root));
  for (auto& [number, cpu] : cpus) {
    const fs::path folder = root / fmt::format("sys/devices/system/cpu/cpu{}", number);
    cpu.socket = read_int(folder / "topology/physical_package_id").value_or(unknown);
    if (cpu.core == unknown) {
      mark(cpus, read_list(folder / "topology/thread_siblings_list"), &Cpu::core);
    }
    if (cpu.cache == unknown) mark(cpus, last_level_cache(folder), &Cpu::cache);
  }
  Machine machine;
  for (const auto& [number, cpu] : cpus) machine.cpus.push_back(cpu);
  for (const std::string& address : gpu_addresses) {
    const fs::path file = root / "sys/bus/pci/devices" / address / "numa_node";
    const auto node = read_int(file);
    if (!node) return fail("--numa-binding", "cannot read " + file.string(), no_binding);
    machine.gpu_nodes.push_back(std::max(*node, 0));
  }
  return machine;
}

Result<Binding> bind(const Machine& machine, NumaBinding mode, int local_rank,
                     int local_world_size) {
  const bool gpus = !machine.gpu_nodes.empty();
  const std::vector<int> homes =
      gpus ? machine.gpu_nodes : spread_over_nodes(machine.cpus, local_world_size);
  const auto own = static_cast<std::size_t>(local_rank);
  if (own >= homes.size()) {
    return fail("--numa-binding",
                fmt::format("local rank {} has no GPU: this node has {}", local_rank, homes.size()),
                "lower --nproc-per-node, or leave out --numa-binding");
  }
  Position position;
  position.node = homes[own];
  position.index = static_cast<std::size_t>(
      std::ranges::count(homes.begin(), homes.begin() + local_rank, position.node));
  position.sharers = static_cast<std::size_t>(std::ranges::count(homes, position.node));
  std::ranges::copy_if(machine.cpus, std::back_inserter(position.cpus),
                       [&](const Cpu& cpu) { return cpu.node == position.node; });
  if (position.cpus.empty()) {
    return fail(
        "--numa-binding",
        fmt::format(
            "GPU {} is on NUMA node {}, but toprun may not use that node's CPUs, only the CPUs {}",
            local_rank, position.node, cpu_list(numbers(machine.cpus))),
        "request CPUs near the GPUs from the scheduler, or leave out --numa-binding");
  }
  auto cpus = TRY(cpus_for(machine, mode, position));
  return Binding{std::move(cpus), position.node};
}

std::optional<std::vector<int>> parse_cpu_list(std::string_view text) {
  std::vector<int> cpus;
  text = trim(text);
  if (text.empty()) return cpus;
  for (const std::string_view range : split(text, ',')) {
    const std::size_t dash = range.find('-');
    const auto first = parse_int(range.substr(0, dash));
    const auto last = dash == range.npos ? first : parse_int(range.substr(dash + 1));
    if (!first || !last || *first < 0 || *last < *first || *last >= spawn::Inherited::max_cpus) {
      return std::nullopt;
    }
    for (auto cpu = *first; cpu <= *last; ++cpu) cpus.push_back(static_cast<int>(cpu));
  }
  std::ranges::sort(cpus);
  return cpus;
}

std::string cpu_list(const std::vector<int>& cpus) {
  std::string out;
  for (std::size_t i = 0; i < cpus.size();) {
    std::size_t end = i + 1;
    while (end < cpus.size() && cpus[end] == cpus[end - 1] + 1) ++end;
    out += fmt::format("{}{}", out.empty() ? "" : ",", cpus[i]);
    if (end - i > 1) out += fmt::format("-{}", cpus[end - 1]);
    i = end;
  }
  return out;
}

}  // namespace toprun::worker
