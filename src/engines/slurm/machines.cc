#include "engines/slurm/machines.h"

#include <algorithm>
#include <array>

#include "base/text/text.h"
#include "engines/slurm/scontrol_record.h"

namespace toprun::engines::slurm {
namespace {

// Flags of a node's state (sinfo(1), NODE STATE CODES) with which Slurm does not allocate it to
// ordinary jobs.
constexpr std::array unusable = {"DOWN",
                                 "DRAIN",
                                 "DRAINED",
                                 "DRAINING",
                                 "FAIL",
                                 "FAILING",
                                 "ERROR",
                                 "UNKNOWN",
                                 "FUTURE",
                                 "MAINTENANCE",
                                 "MAINT",
                                 "RESERVED",
                                 "NOT_RESPONDING",
                                 "INVALID_REG",
                                 "INVAL",
                                 "REBOOT_ISSUED",
                                 "REBOOT_REQUESTED",
                                 "POWERING_DOWN",
                                 "BLOCKED"};
constexpr std::int64_t most_gpus_per_node = 1'000;

// The state's words: "IDLE", "DRAIN"; "*" at the end means that the node does not respond.
struct StateWords {
  explicit StateWords(std::string_view state) {
    if (state.ends_with('*')) {
      silent = true;
      state.remove_suffix(1);
    }
    for (const std::string_view word : split(state, '+')) words.emplace_back(word);
  }
  bool has(std::string_view word) const { return std::ranges::find(words, word) != words.end(); }
  bool usable() const {
    return !silent && std::ranges::none_of(unusable, [&](const char* word) { return has(word); });
  }

  std::vector<std::string> words;
  bool silent = false;
};

// Items between commas that stand outside of brackets.
std::vector<std::string_view> gres_items(std::string_view text) {
  std::vector<std::string_view> items;
  std::size_t start = 0;
  int depth = 0;
  for (std::size_t i = 0; i <= text.size(); ++i) {
    if (i < text.size() && text[i] == '(') ++depth;
    if (i < text.size() && text[i] == ')') --depth;
    if (i < text.size() && (text[i] != ',' || depth > 0)) continue;
    items.push_back(text.substr(start, i - start));
    start = i + 1;
  }
  return items;
}

ClusterNode node_of(const Record& record) {
  ClusterNode node;
  node.name = std::string(record.get("NodeName"));
  node.state = std::string(record.get("State"));
  for (const std::string_view name : split(record.get("Partitions"), ',')) {
    if (!name.empty()) node.partitions.emplace_back(name);
  }
  node.cpus = leading_number(record.get("CPUTot")).value_or(0);
  const GpuGres gpus = gpus_in(record.get("Gres"));
  node.gpus = gpus.count;
  node.gpu_kind = gpus.kind;
  node.used_gpus = std::min(gpus_in(record.get("GresUsed")).count, node.gpus);
  const StateWords state(node.state);
  node.usable = state.usable();
  node.idle = node.usable && state.has("IDLE") && !state.has("COMPLETING");
  node.planned = state.has("PLANNED");
  return node;
}

Partition partition_of(const Record& record) {
  Partition partition;
  partition.name = std::string(record.get("PartitionName"));
  partition.is_default = record.get("Default") == "YES";
  partition.state = std::string(record.get("State"));
  partition.limit = duration(record.get("MaxTime"));
  partition.default_limit = duration(record.get("DefaultTime"));
  partition.most_nodes = parse_int(record.get("MaxNodes"));
  partition.priority = leading_number(record.get("PriorityTier")).value_or(0);
  partition.nodes = std::string(record.get("Nodes"));
  partition.qos = std::string(record.get("QoS"));
  return partition;
}

}  // namespace

GpuGres gpus_in(std::string_view gres) {
  GpuGres found;
  for (const std::string_view item : gres_items(gres)) {
    const auto parts = split(item.substr(0, item.find('(')), ':');
    if (trim(parts[0]) != "gpu" || parts.size() < 2) continue;
    const auto count = parse_int(parts.back());
    if (!count || *count < 0 || *count > most_gpus_per_node) continue;
    found.count += *count;
    if (parts.size() > 2 && found.kind.empty()) found.kind = std::string(parts[1]);
  }
  return found;
}

std::vector<Partition> parse_partitions(std::string_view text) {
  std::vector<Partition> partitions;
  for (const std::string_view line : record_lines(text, "PartitionName")) {
    partitions.push_back(partition_of(Record(line)));
  }
  return partitions;
}

std::vector<ClusterNode> parse_nodes(std::string_view text) {
  std::vector<ClusterNode> nodes;
  for (const std::string_view line : record_lines(text, "NodeName")) {
    nodes.push_back(node_of(Record(line)));
  }
  return nodes;
}

}  // namespace toprun::engines::slurm
