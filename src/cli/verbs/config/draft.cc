#include "cli/verbs/config/draft.h"

#include <algorithm>

#include <nlohmann/json.hpp>

#include "base/json/json_text.h"
#include "base/text/text.h"
#include "cli/jobs/job_words.h"
#include "engines/slurm/defaults.h"

namespace toprun::cli {
namespace {

using engines::ClusterNode;
using engines::Machines;

constexpr std::string_view draft_heading =
    R"(# Options of toprun run, submit and shell in this folder and below it. Keys are long options
# without their dashes; a flag, and a PET_ or TOPRUN_ variable, overrides this file.
# `toprun config show` says what counts and where it comes from.

# The workers:
# nproc-per-node = 4            # else one per GPU
# venv = "env"                  # relative paths begin in this file's folder
# modules = ["cuda/12", "gcc"]
# env = { NCCL_DEBUG = "WARN" }
# log-dir = "logs"
)";

constexpr std::string_view without_engine =
    R"(
# What a job gets, for submit and shell (no engine answered where this was written):
# partition = "NAME"
# nodes = 1
# gpus-per-node = 8
# time = "1:00:00"
# account = "NAME"
)";

constexpr std::string_view short_profile = R"(
[profile.debug]  # with --profile debug
nodes = 1
# time = "0:30:00"
)";

// The lowest and the highest value among the nodes of one partition.
struct Span {
  std::int64_t least = 0;
  std::int64_t most = 0;

  bool is_one() const { return least == most; }
  std::string text() const {
    return is_one() ? fmt::to_string(most) : fmt::format("{} to {}", least, most);
  }
};

Span span_of(const Machines& machines, const std::string& partition,
             std::int64_t ClusterNode::*count) {
  std::optional<Span> span;
  for (const ClusterNode& node : machines.nodes) {
    if (std::ranges::find(node.partitions, partition) == node.partitions.end()) continue;
    const std::int64_t here = node.*count;
    span = span ? Span{std::min(span->least, here), std::max(span->most, here)} : Span{here, here};
  }
  return span.value_or(Span{});
}

struct QueueSpans {
  PartitionView view;
  Span gpus;
  Span cpus;

  const std::string& name() const { return view.partition.name; }
};

std::vector<QueueSpans> queues_of(const Machines& machines) {
  std::vector<QueueSpans> queues;
  for (PartitionView& view : views_of(machines)) {
    const std::string name = view.partition.name;
    queues.push_back({std::move(view), span_of(machines, name, &ClusterNode::gpus),
                      span_of(machines, name, &ClusterNode::cpus)});
  }
  return queues;
}

// JSON's escapes are TOML's too.
std::string quoted(const std::string& text) {
  return json_text(nlohmann::json(printable(text)));
}

std::string list_of(const std::vector<std::string>& names) {
  return printable(join(names, ", "));
}

// "#   gpu (default): 64 nodes with 8 GPUs (h100) and 128 CPUs, at most 2-00:00:00".
std::string described(const QueueSpans& queue) {
  const auto& partition = queue.view.partition;
  std::vector<std::string> kinds;
  for (const auto& gpus : queue.view.gpus) {
    if (!gpus.kind.empty()) kinds.push_back(gpus.kind);
  }
  std::string gpus;
  if (queue.gpus.most > 0) {
    gpus = fmt::format("{} GPUs{} and ", queue.gpus.text(),
                       kinds.empty() ? "" : fmt::format(" ({})", list_of(kinds)));
  }
  std::string text = fmt::format("#   {}{}: {} with {}{} CPUs", printable(partition.name),
                                 partition.is_default ? " (default)" : "",
                                 counted(queue.view.nodes, "node"), gpus, queue.cpus.text());
  text += partition.limit ? ", at most " + jobs::clock_text(*partition.limit) : ", no time limit";
  if (partition.state != "UP") text += ", " + printable(lower(partition.state));
  return text + '\n';
}

// The default partition, unless only another one has GPUs.
const QueueSpans* usual(const std::vector<QueueSpans>& queues) {
  const QueueSpans* best = nullptr;
  for (const QueueSpans& queue : queues) {
    if (queue.view.partition.is_default) best = &queue;
  }
  if (best != nullptr && best->gpus.most > 0) return best;
  for (const QueueSpans& queue : queues) {
    if (!queue.view.debug.empty() || queue.gpus.most == 0) continue;
    if (best == nullptr || queue.gpus.most > best->gpus.most) best = &queue;
  }
  return best;
}

const QueueSpans* for_tests(const std::vector<QueueSpans>& queues) {
  const auto found = std::ranges::find_if(
      queues, [](const QueueSpans& queue) { return !queue.view.debug.empty(); });
  return found == queues.end() ? nullptr : &*found;
}

std::string time_line(const QueueSpans& queue) {
  const auto& limit = queue.view.partition.limit;
  if (!limit) return "# time = \"1:00:00\"\n";
  return fmt::format("# time = \"{}\"  # the partition's limit\n", jobs::clock_text(*limit));
}

std::string choice_line(std::string_view key, const std::vector<std::string>& names) {
  if (names.empty()) return fmt::format("# {} = \"NAME\"\n", key);
  return fmt::format("# {} = {}  # yours: {}\n", key, quoted(names.front()), list_of(names));
}

std::string gpus_line(const QueueSpans& queue) {
  if (queue.gpus.most == 0) return {};
  return fmt::format("{}gpus-per-node = {}\n", queue.gpus.is_one() ? "" : "# ", queue.gpus.most);
}

std::string usual_text(const QueueSpans& queue, const engines::Choices& choices) {
  std::string text = fmt::format("{}partition = {}\n", queue.view.partition.is_default ? "# " : "",
                                 quoted(queue.name()));
  text += "# nodes = 1\n" + gpus_line(queue) + time_line(queue);
  return text + choice_line("account", choices.accounts) + choice_line("qos", choices.qos);
}

std::string network_text(const engines::SlurmFacts& facts) {
  if (!facts.leaf_nodes.empty()) {
    const auto [least, most] = std::ranges::minmax(facts.leaf_nodes);
    return fmt::format(
        "\n# The network is a tree with {} nodes below each leaf switch. A job that fits below "
        "one\n"
        "# waits {} for it; to be more patient:\n# switches = \"1@30:00\"\n",
        Span{least, most}.text(), engines::switches_wait);
  }
  if (facts.block_nodes > 0) {
    return fmt::format(
        "\n# The network has blocks of {0} nodes. To keep groups of nodes inside one:\n"
        "# segment = {0}\n",
        facts.block_nodes);
  }
  return facts.topology.empty()
             ? ""
             : fmt::format("\n# The network: topology/{}.\n", printable(facts.topology));
}

// Values of the tables outside of the profile that do not fit here are written again.
std::string tests_text(const QueueSpans& tests, const QueueSpans& usual_one) {
  std::string text =
      fmt::format("\n[profile.debug]  # with --profile debug; {}\npartition = {}\nnodes = 1\n",
                  printable(tests.view.debug), quoted(tests.name()));
  const bool differs = usual_one.gpus.is_one() && usual_one.gpus.most > 0;
  if (tests.gpus.is_one() && tests.gpus.most > 0) {
    text += fmt::format("gpus-per-node = {}\n", tests.gpus.most);
  } else if (differs) {
    text += tests.gpus.most > 0 ? fmt::format("gpus-per-node = {}\n", tests.gpus.least)
                                : "gpus-per-node = false\n";
  }
  return text;
}

std::string jobs_text(const ClusterPicture& cluster, const std::vector<QueueSpans>& queues) {
  std::string text = "\n# What a job gets, for submit and shell. The partitions:\n";
  for (const QueueSpans& queue : queues) text += described(queue);
  const QueueSpans* const chosen = usual(queues);
  if (chosen != nullptr) text += usual_text(*chosen, cluster.choices);
  text += network_text(cluster.facts);
  const QueueSpans* const tests = for_tests(queues);
  const bool has_own = tests != nullptr && chosen != nullptr && tests != chosen;
  return text + (has_own ? tests_text(*tests, *chosen) : std::string(short_profile));
}

// "#   a3: 4 nodes with 8 nvidia.com/gpu (H100) and 207 CPUs".
std::string described_pool(const QueueSpans& pool, const std::string& resource) {
  std::vector<std::string> kinds;
  for (const auto& gpus : pool.view.gpus) {
    if (!gpus.kind.empty()) kinds.push_back(gpus.kind);
  }
  std::vector<std::string> parts;
  if (pool.gpus.most > 0) {
    parts.push_back(fmt::format("{} {}{}", pool.gpus.text(),
                                resource.empty() ? "GPUs" : printable(resource),
                                kinds.empty() ? "" : fmt::format(" ({})", list_of(kinds))));
  }
  if (pool.cpus.most > 0)
    parts.push_back(pool.cpus.text() + " CPUs");  // Run:AI's are not asked for
  const std::string& notes = pool.view.partition.notes;
  return fmt::format("#   {}: {}{}{}{}\n",
                     pool.name().empty() ? "in no pool" : printable(pool.name()),
                     counted(pool.view.nodes, "node"), parts.empty() ? "" : " with ",
                     join(parts, " and "), notes.empty() ? "" : "; " + printable(notes));
}

std::string gpu_resource_of(const Machines& machines) {
  const auto found = std::ranges::find_if(
      machines.nodes, [](const ClusterNode& node) { return !node.gpu_resource.empty(); });
  return found == machines.nodes.end() ? std::string() : found->gpu_resource;
}

std::string claims_text(const std::vector<engines::kubernetes::ClaimChoice>& claims) {
  if (claims.empty()) return "# pvc = [\"NAME:/PATH\"]\n";
  std::vector<std::string> others;
  for (const auto& claim : claims) {
    others.push_back(fmt::format("{}{}{}", printable(claim.name),
                                 claim.size.empty() ? "" : " of " + printable(claim.size),
                                 claim.is_shared ? "" : " (pods of one node)"));
  }
  return fmt::format("# pvc = [{}]  # claims here: {}\n",
                     quoted(fmt::format("{0}:/{0}", claims.front().name)), list_of(others));
}

// The first that is there is the default's, or is set.
std::string operator_line(const std::vector<std::string>& operators) {
  if (operators.empty()) return "# operator = \"pytorchjob\"\n";
  const bool has_default = operators.front() == "pytorchjob";
  return fmt::format("{}operator = {}  # installed: {}\n", has_default ? "# " : "",
                     quoted(operators.front()), list_of(operators));
}

std::vector<std::string> names_of(const std::vector<engines::AdmissionQueue>& queues) {
  std::vector<std::string> names;
  for (const engines::AdmissionQueue& queue : queues) names.push_back(queue.name);
  return names;
}

std::string kueue_line(const std::vector<engines::AdmissionQueue>& queues) {
  if (queues.empty()) return {};
  return fmt::format("# queue = {}  # Kueue's here: {}\n", quoted(queues.front().name),
                     list_of(names_of(queues)));
}

std::string pods_text(const ClusterPicture& cluster, const std::vector<QueueSpans>& pools) {
  const auto& choices = cluster.pods;
  std::string text = "\n# What a job of pods gets, for submit. ";
  text += pools.empty() ? "Its nodes could not be listed.\n" : "The pools of nodes:\n";
  for (const QueueSpans& pool : pools)
    text += described_pool(pool, gpu_resource_of(cluster.machines));
  text += fmt::format("on = {}\n", quoted(std::string(name_of(*cluster.engine))));
  if (cluster.engine == engines::QueueKind::runai) {
    text += choice_line("project", names_of(cluster.machines.queues));
  } else {
    text += fmt::format("# namespace = {}\n",
                        quoted(choices.space.empty() ? "default" : choices.space));
    text += operator_line(choices.operators) + kueue_line(cluster.machines.queues);
  }
  text += "# container = \"docker://IMAGE\"  # toprun is in its PATH\n# nodes = 1\n";
  const QueueSpans* const chosen = usual(pools);
  text += chosen != nullptr ? gpus_line(*chosen) : "# gpus-per-node = 8\n";
  return text + claims_text(choices.claims) + std::string(short_profile);
}

}  // namespace

std::string config_draft(const ClusterPicture& cluster) {
  const auto queues = queues_of(cluster.machines);
  std::string text(draft_heading);
  if (cluster.engine && engines::has_pods(*cluster.engine))
    return text + pods_text(cluster, queues);
  if (!queues.empty()) return text + jobs_text(cluster, queues);
  return text + std::string(without_engine) + std::string(short_profile);
}

}  // namespace toprun::cli
