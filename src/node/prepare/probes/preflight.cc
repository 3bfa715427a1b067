#include "node/prepare/probes/preflight.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <functional>
#include <map>
#include <set>

#include "base/net/hostlist.h"
#include "base/os/files.h"
#include "base/text/clock.h"
#include "base/text/text.h"
#include "engines/gpus.h"
#include "machine/doctor/host_report.h"
#include "machine/doctor/installed.h"
#include "machine/doctor/resources.h"
#include "machine/doctor/traits.h"
#include "node/link/preamble.h"
#include "node/plan/accelerate.h"

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

namespace fs = std::filesystem;
using model::Evidence;
using std::chrono::milliseconds;

// The file that Python or the kernel will read: a folder's __main__.py; nothing for a module and
// for a program that PATH finds, which is the system's.
fs::path script_of(const plan::Options& options) {
  if (options.program == plan::Program::module) return {};
  if (options.program == plan::Program::executable &&
      options.script.find('/') == std::string::npos) {
    return {};
  }
  std::error_code error;
  const fs::path script = options.script;
  return fs::is_directory(script, error) ? script / "__main__.py" : script;
}

// A script to which `accelerate launch` would pass settings that toprun does not.
std::optional<std::string> idle_accelerate_config(std::string_view script,
                                                  const Environment& environment) {
  if (!plan::imports_accelerate(script) || plan::has_accelerate_settings(environment))
    return std::nullopt;
  const fs::path file = plan::accelerate_default_config(environment);
  std::error_code error;
  if (!fs::is_regular_file(file, error)) return std::nullopt;
  return file.string();
}

void read_script(const fs::path& script, const Environment& environment, Evidence& evidence) {
  struct stat status {};
  if (script.empty() || ::stat(script.c_str(), &status) != 0 || !S_ISREG(status.st_mode)) return;
  if (::access(script.c_str(), R_OK) != 0) {
    evidence.script_error = errno_text(errno);
    return;
  }
  const auto size = static_cast<std::size_t>(status.st_size);
  if (size > longest_hashed_script_bytes) {
    evidence.script = fmt::format("{} bytes", size);
  } else if (const auto text = read_file(script, longest_hashed_script_bytes)) {
    evidence.script = link::content_hash(*text);
    evidence.idle_accelerate_config = idle_accelerate_config(*text, environment);
  } else {
    evidence.script_error = text.error()->why;
  }
}

// One agent's evidence, and the number of ranks for which the limits of its node have to suffice.
struct NodeEvidence {
  std::string host;
  const Evidence* saw;
  std::int64_t ranks;  // of the whole node
};

using NodeEvidences = std::vector<NodeEvidence>;

// The list of hosts for which it holds, such as "n[1-2]"; empty: none.
template <class Holds>
std::string hosts_where(const NodeEvidences& nodes, Holds holds) {
  std::vector<std::string> hosts;
  for (const NodeEvidence& node : nodes) {
    if (holds(node)) hosts.push_back(node.host);
  }
  return hosts.empty() ? "" : hosts::short_list(std::move(hosts));
}

// "3.11 on n[0-2], 3.12 on n3", most hosts first; empty if all known values agree. Values that mean
// nothing to people are "one" and "another".
template <class Field>
std::string disagreement(const NodeEvidences& nodes, Field field, bool readable) {
  std::vector<doctor::ValueOfHost> values;
  for (const NodeEvidence& node : nodes) {
    std::string value = std::invoke(field, *node.saw);
    if (!value.empty()) values.push_back({node.host, std::move(value)});
  }
  const auto groups = doctor::groups_by_value(std::move(values));
  if (groups.size() < 2) return {};
  std::string text;
  for (const auto& [value, hosts] : groups) {
    if (!text.empty()) text += ", ";
    const std::string what = readable ? value : text.empty() ? "one" : "another";
    text += fmt::format("{} on {}", what, hosts::short_list(hosts));
  }
  return text;
}

void add_script(const NodeEvidences& nodes, std::vector<std::string>& lines) {
  const auto unreadable =
      hosts_where(nodes, [](const NodeEvidence& w) { return !w.saw->script_error.empty(); });
  if (!unreadable.empty()) {
    const auto one = std::ranges::find_if(
        nodes, [](const NodeEvidence& w) { return !w.saw->script_error.empty(); });
    lines.push_back(
        fmt::format("the script cannot be read on {}: {}; make the script readable there",
                    unreadable, one->saw->script_error));
  }
  const auto different = disagreement(nodes, &Evidence::script, false);
  if (!different.empty()) {
    lines.push_back(fmt::format(
        "the script differs between nodes: {}; copy the same script to all nodes", different));
  }
}

void add_accelerate(const NodeEvidences& nodes, std::vector<std::string>& lines) {
  const auto has_one = [](const NodeEvidence& w) {
    return w.saw->idle_accelerate_config.has_value();
  };
  const auto idle = hosts_where(nodes, has_one);
  if (idle.empty()) return;
  const auto one = std::ranges::find_if(nodes, has_one);
  const std::string& file = *one->saw->idle_accelerate_config;
  lines.push_back(
      fmt::format("the script imports accelerate, but its settings in {} on {} are not applied; "
                  "`toprun --accelerate-config {}` applies them, as accelerate's own launcher does",
                  file, idle, file));
}

// What an agent's evidence has for a row of the doctor's table.
std::string value_of(const Evidence& saw, std::string_view trait) {
  if (trait == "python") return saw.python;
  if (trait == "torch") return saw.torch;
  if (trait == "rdma") return saw.network.value_or("");
  return trait == "nccl" ? saw.nccl.value_or("") : "";
}

void add_differences(const NodeEvidences& nodes, std::vector<std::string>& lines) {
  for (const doctor::TraitRow& row : doctor::trait_rows()) {
    if (row.in_launch.empty()) continue;
    const auto value = [&](const Evidence& saw) { return value_of(saw, row.id); };
    const std::string text = disagreement(nodes, value, true);
    if (!text.empty()) lines.push_back(fmt::format(fmt::runtime(row.in_launch), text));
  }
}

void add_mistakes(const NodeEvidences& nodes, std::vector<std::string>& lines) {
  std::map<std::string, std::vector<std::string>> hosts_of;
  for (const NodeEvidence& node : nodes) {
    for (const std::string& mistake : node.saw->mistakes) hosts_of[mistake].push_back(node.host);
  }
  for (auto& [mistake, hosts] : hosts_of) {
    lines.push_back(fmt::format("{} on {} (run `toprun net env` there)", printable(mistake),
                                hosts::short_list(std::move(hosts))));
  }
}

void add_clocks(const NodeEvidences& nodes, std::vector<std::string>& lines) {
  const auto off = [](const NodeEvidence& w) { return std::chrono::abs(w.saw->clock_behind); };
  const auto wrong =
      hosts_where(nodes, [&](const NodeEvidence& w) { return off(w) > doctor::clock_tolerance; });
  if (wrong.empty()) return;
  const milliseconds most = off(*std::ranges::max_element(nodes, {}, off));
  lines.push_back(fmt::format(
      "the clock of {} differs by {}{} from the root's clock; set it with NTP, because otherwise "
      "times in logs and files mislead",
      wrong, wrong.find_first_of("[,") == wrong.npos ? "" : "up to ", duration_text(most)));
}

void add_shortages(const NodeEvidences& nodes, std::int64_t world,
                   std::vector<std::string>& lines) {
  for (const doctor::Need& need : doctor::needs()) {
    const std::string hosts = hosts_where(nodes, [&](const NodeEvidence& w) {
      return doctor::is_short(need, w.saw->resources, {w.ranks, world});
    });
    if (hosts.empty()) continue;
    lines.push_back(fmt::format("{} on {}: {}; {}", need.what, hosts, need.because,
                                doctor::fix_of(need, need.command)));
  }
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

Evidence examine(const plan::Job& job) {
  Evidence evidence;
  read_script(script_of(job.options), job.environment, evidence);
  if (job.options.program != plan::Program::executable && !job.in_container()) {
    doctor::Installed installed = doctor::look_at_python(job.program.front(), job.environment);
    evidence.python = std::move(installed.python);
    evidence.torch = std::move(installed.torch);
    if (!installed.nccl.empty()) evidence.nccl = std::move(installed.nccl);
  }
  evidence.resources = doctor::read_resources(fabric::Sysfs(), job.inherited.limits);
  if (job.place.engine == engines::EngineKind::kubernetes) {
    evidence.machine = look_at_machine(job.environment);
  }
  return evidence;
}

std::vector<std::string> preflight_warnings(const std::vector<Join>& members) {
  std::map<std::string, std::int64_t> ranks;  // by host: ranks in place join one by one
  std::int64_t world = 0;
  for (const Join& join : members) {
    ranks[join.host] += join.slots;
    world += join.slots;
  }
  NodeEvidences nodes;
  for (const Join& join : members) {
    if (join.evidence) nodes.push_back({join.host, &*join.evidence, ranks[join.host]});
  }
  std::vector<std::string> lines;
  if (nodes.empty()) return lines;
  add_script(nodes, lines);
  add_accelerate(nodes, lines);
  add_differences(nodes, lines);
  add_mistakes(nodes, lines);
  for (std::string& line : pod_warnings(members)) lines.push_back(std::move(line));
  add_clocks(nodes, lines);
  add_shortages(nodes, world, lines);
  for (std::string& line : lines) line = "warning: " + line;
  if (lines.size() > most_preflight_warnings) lines.resize(most_preflight_warnings);
  return lines;
}

}  // namespace toprun::probes
