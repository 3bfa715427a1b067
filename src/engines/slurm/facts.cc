#include "engines/slurm/facts.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/net/hostlist.h"
#include "base/process/command.h"
#include "base/text/text.h"
#include "engines/queue.h"
#include "engines/slurm/words.h"

namespace toprun::engines {
namespace {

constexpr const char* sinfo_format = "%P|%a|%l|%D|%c|%G|%m";
constexpr std::int64_t largest_count = 1 << 24;  // of nodes, CPUs or GPUs
constexpr std::int64_t most_days = 10'000;

int number(std::string_view text) {
  while (text.ends_with('+')) text.remove_suffix(1);  // sinfo: this many and more
  const auto value = parse_int(text);
  return value && *value >= 0 && *value <= largest_count ? static_cast<int>(*value) : 0;
}

// The value of KEY=VALUE among the words of a line.
std::string_view field(std::string_view line, std::string_view key) {
  for (const std::string_view word : words(line)) {
    if (word.starts_with(key) && word.substr(key.size()).starts_with('=')) {
      return word.substr(key.size() + 1);
    }
  }
  return {};
}

// Commas inside parentheses separate nothing: "gpu:8(S:0,1),nic:2".
std::vector<std::string_view> entries_of(std::string_view gres) {
  std::vector<std::string_view> entries;
  std::size_t start = 0;
  int depth = 0;
  for (std::size_t i = 0; i < gres.size(); ++i) {
    depth += gres[i] == '(' ? 1 : gres[i] == ')' ? -1 : 0;
    if (gres[i] != ',' || depth > 0) continue;
    entries.push_back(gres.substr(start, i - start));
    start = i + 1;
  }
  entries.push_back(gres.substr(start));
  return entries;
}

// Numbers between colons: M or M:S alone, H or H:M behind days, and H:M:S.
std::optional<std::int64_t> clock_seconds(std::string_view text, bool after_days) {
  const std::vector<std::string_view> parts = split(text, ':');
  if (parts.size() > 3) return std::nullopt;
  const bool hours_first = after_days || parts.size() == 3;
  const std::array<std::int64_t, 3> units = hours_first ? std::array<std::int64_t, 3>{3600, 60, 1}
                                                        : std::array<std::int64_t, 3>{60, 1, 0};
  std::int64_t sum = 0;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const auto value = parse_int(parts[i]);
    if (!value || *value < 0 || *value > largest_count) return std::nullopt;
    sum += *value * units[i];
  }
  return sum;
}

std::optional<std::int64_t> written_seconds(std::string_view text) {
  const std::size_t dash = text.find('-');
  if (dash == std::string_view::npos) return clock_seconds(text, false);
  const auto days = parse_int(text.substr(0, dash));
  const auto rest = clock_seconds(text.substr(dash + 1), true);
  if (!days || *days < 0 || *days > most_days || !rest) return std::nullopt;
  return *days * 24 * 3600 + *rest;
}

}  // namespace

std::vector<std::string> SlurmFacts::partitions() const {
  std::vector<std::string> names;
  for (const NodeKind& kind : kinds) {
    if (std::ranges::find(names, kind.partition) == names.end()) names.push_back(kind.partition);
  }
  return names;
}

std::vector<NodeKind> node_kinds_in(std::string_view sinfo) {
  std::vector<NodeKind> kinds;
  for (const std::string_view line : split(sinfo, '\n')) {
    const std::vector<std::string_view> fields = split(trim(line), '|');
    if (fields.size() != 7 || fields[0].empty()) continue;
    NodeKind kind;
    kind.partition = fields[0];
    kind.is_default = kind.partition.ends_with('*');
    if (kind.is_default) kind.partition.pop_back();
    kind.is_up = fields[1] == "up";
    kind.time_limit = fields[2];
    kind.nodes = number(fields[3]);
    kind.cpus = number(fields[4]);
    kind.gpus = gpus_in_gres(fields[5]);
    kind.memory_mib = number(fields[6]);
    kinds.push_back(std::move(kind));
  }
  return kinds;
}

std::string topology_plugin_in(std::string_view config) {
  for (const std::string_view line : split(config, '\n')) {
    if (!line.starts_with("TopologyPlugin")) continue;
    const std::string_view value = trim(line.substr(line.find('=') + 1));
    return std::string(value.substr(value.find('/') + 1));
  }
  return {};
}

std::int64_t max_array_size_in(std::string_view config) {
  for (const std::string_view line : split(config, '\n')) {
    if (!line.starts_with("MaxArraySize")) continue;
    return std::max<std::int64_t>(0, parse_int(trim(line.substr(line.find('=') + 1))).value_or(0));
  }
  return 0;
}

std::string topology_kind_in(std::string_view topology) {
  for (const std::string_view line : split(topology, '\n')) {
    if (line.starts_with("SwitchName=")) return "tree";
    if (line.starts_with("BlockName=")) return "block";
  }
  return {};
}

std::vector<int> leaf_nodes_in(std::string_view topology) {
  std::vector<int> sizes;
  for (const std::string_view line : split(topology, '\n')) {
    if (!line.starts_with("SwitchName=") || field(line, "Level") != "0") continue;
    const auto nodes = hosts::expand_hostlist(field(line, "Nodes"));
    if (nodes && !nodes->empty()) sizes.push_back(static_cast<int>(nodes->size()));
  }
  return sizes;
}

int block_nodes_in(std::string_view topology) {
  int least = 0;
  for (const std::string_view line : split(topology, '\n')) {
    const int size = number(field(line, "BlockSize"));
    if (size > 0 && (least == 0 || size < least)) least = size;
  }
  return least;
}

std::optional<std::int64_t> slurm_seconds(std::string_view text) {
  const auto seconds = written_seconds(text);
  return seconds == 0 ? std::nullopt : seconds;  // sbatch(1), --time: zero means no limit
}

int gpus_in_gres(std::string_view gres) {
  std::int64_t sum = 0;
  for (std::string_view entry : entries_of(gres)) {
    entry = entry.substr(0, entry.find('('));
    if (entry == "gpu") ++sum;
    if (!entry.starts_with("gpu:")) continue;
    const std::string_view last = entry.substr(entry.rfind(':') + 1);
    const auto count = parse_int(last);
    sum += count && *count >= 0 && *count <= largest_count ? *count : 1;  // gpu:h100 is one
  }
  return static_cast<int>(std::min(sum, largest_count));
}

std::chrono::milliseconds slurm_answer_limit(const Environment& environment) {
  return engine_timeout_of(environment).value_or(engine_timeout);
}

SlurmFacts ask_slurm(const Environment& environment, std::vector<std::string>& trouble) {
  SlurmFacts facts;
  const auto ask = [&](const std::vector<std::string>& argv) -> std::string {
    if (facts.without_cluster) return {};
    auto answer = process::output_of(argv, environment, slurm_answer_limit(environment));
    if (answer) return *std::move(answer);
    facts.without_cluster = !slurm::advice_without_cluster(answer.error()->why).empty();
    trouble.push_back(facts.without_cluster
                          ? fmt::format("the cluster is not known, because {}", slurm::no_cluster)
                          : answer.error().line());
    return {};
  };
  facts.kinds = node_kinds_in(ask({"sinfo", "--noheader", "--exact", "-o", sinfo_format}));
  const std::string config = ask({"scontrol", "show", "config"});
  facts.topology = topology_plugin_in(config);
  facts.max_array_size = max_array_size_in(config);
  if (facts.topology != "tree" && facts.topology != "block" && facts.topology != "flat") {
    return facts;
  }
  const std::string topology = ask({"scontrol", "show", "topology"});
  const std::string kind = topology_kind_in(topology);
  if (facts.topology == "flat" && !kind.empty()) facts.topology = kind;
  facts.leaf_nodes = leaf_nodes_in(topology);
  facts.block_nodes = block_nodes_in(topology);
  return facts;
}

}  // namespace toprun::engines
