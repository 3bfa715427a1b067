#include "node/prepare/probes/pod_machine.h"

#include <algorithm>
#include <map>
#include <set>

#include "base/net/hostlist.h"
#include "base/os/files.h"
#include "base/text/counted.h"
#include "base/text/text.h"
#include "engines/gpus.h"

namespace toprun::probes {
namespace {

using model::Join;
using model::PodMachine;

constexpr std::size_t longest_boot_id_bytes = 64;

struct Pod {
  std::string host;
  PodMachine machine;
};

std::vector<Pod> pods_with_gpus(const std::vector<Join>& members) {
  std::vector<Pod> pods;
  for (const Join& join : members) {
    if (!join.evidence || !join.evidence->machine) continue;
    if (join.evidence->machine->gpus > 0) pods.push_back({join.host, *join.evidence->machine});
  }
  return pods;
}

// The pods of each machine that has several, by its boot id.
std::vector<std::set<std::string>> crowds(const std::vector<Pod>& pods) {
  std::map<std::string, std::set<std::string>> machines;
  for (const Pod& pod : pods) {
    if (!pod.machine.boot_id.empty()) machines[pod.machine.boot_id].insert(pod.host);
  }
  std::vector<std::set<std::string>> several;
  for (auto& [boot_id, hosts] : machines) {
    if (hosts.size() > 1) several.push_back(std::move(hosts));
  }
  std::ranges::sort(several);
  return several;
}

// "--gpus-per-node 8 (nvidia.com/gpu: 8 of the pod)".
std::string whole_machine(int gpus) {
  if (gpus == 0) return "--gpus-per-node N with the number of a machine's GPUs";
  return fmt::format("--gpus-per-node {0} (nvidia.com/gpu: {0} in a manifest)", gpus);
}

std::string crowd_line(const std::vector<std::set<std::string>>& several, int machine_gpus) {
  const auto& first = several.front();
  std::string others;
  if (several.size() > 1) {
    others = fmt::format(" ({} have several)", counted(several.size(), "machine"));
  }
  return fmt::format(
      "pods {} are on one machine{}: NCCL treats them as {} hosts and sends their traffic over the "
      "network, although they share the network adapters; give each pod a whole machine: {}",
      join(std::vector<std::string>(first.begin(), first.end()), " and "), others, first.size(),
      whole_machine(machine_gpus));
}

}  // namespace

PodMachine look_at_machine(const Environment& environment, const std::filesystem::path& root) {
  PodMachine machine;
  const auto boot_id = read_file(root / "proc/sys/kernel/random/boot_id", longest_boot_id_bytes);
  if (boot_id) machine.boot_id = trim(*boot_id);
  const engines::GpuShare gpus = engines::gpu_share(environment, root);
  machine.gpus = std::min(gpus.container, model::most_gpus);
  machine.machine_gpus = std::min(gpus.machine, model::most_gpus);
  return machine;
}

std::vector<std::string> pod_warnings(const std::vector<Join>& members) {
  const std::vector<Pod> pods = pods_with_gpus(members);
  std::vector<std::string> lines;
  if (pods.size() < 2) return lines;
  const auto several = crowds(pods);
  std::set<std::string> named;
  if (!several.empty()) {
    int machine_gpus = 0;
    for (const Pod& pod : pods) machine_gpus = std::max(machine_gpus, pod.machine.machine_gpus);
    lines.push_back(crowd_line(several, machine_gpus));
    for (const auto& hosts : several) named.insert(hosts.begin(), hosts.end());
  }
  std::map<std::pair<int, int>, std::vector<std::string>> fewer;
  for (const Pod& pod : pods) {
    const PodMachine& machine = pod.machine;
    if (machine.gpus >= machine.machine_gpus || named.contains(pod.host)) continue;
    fewer[{machine.gpus, machine.machine_gpus}].push_back(pod.host);
  }
  for (const auto& [counts, hosts] : fewer) {
    lines.push_back(fmt::format(
        "pods have {} of their machine's {} GPUs: {}; other jobs can use the other GPUs and the "
        "network adapters, so request whole machines: {}",
        counts.first, counts.second, hosts::short_list(hosts), whole_machine(counts.second)));
  }
  return lines;
}

}  // namespace toprun::probes
