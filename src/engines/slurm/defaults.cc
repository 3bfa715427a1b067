#include "engines/slurm/defaults.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "base/net/hostlist.h"
#include "base/text/text.h"
#include "engines/slurm/script.h"

namespace toprun::engines {
namespace {

// The notice comes at most this part (one fourth) of the job's time before its end: in a short job
// SIGUSR2 must not arrive before the job has begun to work.
constexpr std::int64_t shortest_share = 4;

bool says(const JobRequest& job, std::string_view name) {
  return job.find(name) != nullptr || job.has_raw(name);
}

void add(JobRequest& job, std::string name, std::string value, std::string reason) {
  job.options.push_back({std::move(name), std::move(value), std::move(reason)});
}

// N of "N" and MAX of "MIN-MAX"; 0 if there is none, as with "4k".
int most_nodes(const JobRequest& job) {
  const JobOption* nodes = job.find("--nodes");
  if (nodes == nullptr || !nodes->value) return 0;
  const std::string_view text = *nodes->value;
  const auto count = parse_int(text.substr(text.find('-') + 1));
  return count && *count > 0 && *count < INT32_MAX ? static_cast<int>(*count) : 0;
}

// MIN-MAX, instead of one number.
bool is_range(const JobRequest& job) {
  const JobOption* nodes = job.find("--nodes");
  if (nodes == nullptr || !nodes->value) return false;
  const std::string_view text = *nodes->value;
  const std::size_t dash = text.find('-');
  return dash != std::string_view::npos && text.substr(0, dash) != text.substr(dash + 1);
}

// The count of "8" and "h100:8".
int count_of(const JobOption& option) {
  return gpus_in_gres("gpu:" + option.value.value_or("0"));
}

// The number of GPUs that the job requests on each node, if known.
int gpus_per_node(const JobRequest& job) {
  if (const JobOption* each = job.find("--gpus-per-node")) return count_of(*each);
  const JobOption* all = job.find("--gpus");
  const int nodes = most_nodes(job);
  if (all != nullptr && nodes > 0) return std::max(1, count_of(*all) / nodes);
  const JobOption* gres = job.find("--gres");
  return gres == nullptr ? 0 : gpus_in_gres(gres->value.value_or(""));
}

bool names(const JobOption& list, std::string_view name) {
  const std::vector<std::string_view> named = split(*list.value, ',');
  return std::ranges::find(named, name) != named.end();
}

// The nodes of the partitions in which the job may run.
std::vector<NodeKind> kinds_for(const JobRequest& job, const SlurmFacts& facts) {
  const JobOption* partition = job.find("--partition");
  std::vector<NodeKind> kinds;
  for (const NodeKind& kind : facts.kinds) {
    const bool requested =
        partition == nullptr ? kind.is_default : names(*partition, kind.partition);
    if (requested) kinds.push_back(kind);
  }
  return kinds;
}

std::string partition_words(const JobRequest& job, const std::vector<NodeKind>& kinds) {
  const JobOption* partition = job.find("--partition");
  return "partition " + (partition != nullptr ? *partition->value : kinds.front().partition);
}

// "--partition gpu"; where the user did not type it, with the place: "… (toprun.toml:3)".
std::string label_of(const JobOption& option, std::string_view value) {
  const std::string place = option.reason.empty() ? "" : fmt::format(" ({})", option.reason);
  return fmt::format("{} {}{}", option.name, value, place);
}

Result<void> check_partitions(const JobRequest& job, const SlurmFacts& facts) {
  const JobOption* given = job.find("--partition");
  const std::vector<std::string> known = facts.partitions();
  if (given == nullptr || known.empty()) return {};
  for (const std::string_view name : split(*given->value, ',')) {
    if (std::ranges::find(known, name) != known.end()) continue;
    const auto near = did_you_mean(name, known);
    return usage(label_of(*given, name), fmt::format("this cluster has {}", join(known, ", ")),
                 near ? fmt::format("did you mean {}?", *near) : "choose one of them");
  }
  return {};
}

// Whether a partition by itself has so many nodes with so many GPUs each.
bool has_partition(const SlurmFacts& facts, std::int64_t nodes, int gpus) {
  std::map<std::string, std::int64_t> count;
  for (const NodeKind& kind : facts.kinds) {
    if (kind.gpus >= gpus) count[kind.partition] += kind.nodes;
  }
  return std::ranges::any_of(count, [&](const auto& entry) { return entry.second >= nodes; });
}

// By the option that the user gave: --nodes may be derived from --nnodes.
std::string nodes_label(const JobOption& nodes) {
  if (nodes.reason != "--nnodes") return label_of(nodes, *nodes.value);
  std::string range = *nodes.value;
  std::ranges::replace(range, '-', ':');
  return "--nnodes " + range;
}

Result<void> check_size(const JobRequest& job, const SlurmFacts& facts,
                        const std::vector<NodeKind>& kinds) {
  int nodes = 0;
  int gpus = 0;
  for (const NodeKind& kind : kinds) {
    nodes += kind.nodes;
    gpus = std::max(gpus, kind.gpus);
  }
  const std::string where = partition_words(job, kinds);
  if (most_nodes(job) > nodes) {
    return usage(nodes_label(*job.find("--nodes")), fmt::format("{} has {}", where, nodes),
                 has_partition(facts, most_nodes(job), 0)
                     ? "request fewer nodes, or choose another partition"
                     : "request fewer nodes");
  }
  const int requested = gpus_per_node(job);
  if (requested <= gpus) return {};
  if (gpus == 0 && !has_partition(facts, 1, 1)) {
    return usage(fmt::format("{} GPUs on each node", requested),
                 "no node of this cluster has a GPU that Slurm knows of",
                 "request no GPUs, or ask an administrator to configure the cluster's Gres");
  }
  return usage(
      fmt::format("{} GPUs on each node", requested),
      gpus == 0 ? fmt::format("no node of {} has a GPU", where)
                : fmt::format("a node of {} has at most {} GPUs", where, gpus),
      gpus == 0 ? "choose another partition" : "request more nodes with fewer GPUs on each node");
}

// Slurm reads 2:00 as minutes and seconds.
void tell_minutes(const JobRequest& job, std::vector<std::string>& notes) {
  const JobOption* const time = job.find("--time");
  if (time == nullptr) return;
  const std::string& value = *time->value;
  const bool has_minutes = std::ranges::count(value, ':') == 1 && !value.contains('-');
  if (!has_minutes) return;
  notes.push_back(fmt::format(
      "--time {0}: Slurm reads this as minutes and seconds; for hours and minutes, write {0}:00",
      value));
}

// A quality of service may allow more than the partition; in that case Slurm decides.
Result<void> check_time(const JobRequest& job, const std::vector<NodeKind>& kinds) {
  const JobOption* time = job.find("--time");
  if (time == nullptr || says(job, "--qos")) return {};
  const auto requested = slurm_seconds(*time->value);
  std::int64_t longest = 0;
  std::string text;
  for (const NodeKind& kind : kinds) {
    const auto limit = slurm_seconds(kind.time_limit);
    if (!limit) return {};
    if (*limit < longest) continue;
    longest = *limit;
    text = kind.time_limit;
  }
  if (!requested || *requested <= longest) return {};
  return usage(label_of(*time, *time->value),
               fmt::format("{} allows at most {}", partition_words(job, kinds), text),
               "request less time, or choose another partition");
}

// A node that both lists name makes the job impossible.
Result<void> check_node_lists(const JobRequest& job) {
  const JobOption* const wanted = job.find("--nodelist");
  const JobOption* const unwanted = job.find("--exclude");
  if (wanted == nullptr || unwanted == nullptr) return {};
  const auto nodes = hosts::expand_hostlist(wanted->value.value_or(""));
  const auto others = hosts::expand_hostlist(unwanted->value.value_or(""));
  if (!nodes || !others) return {};  // a file, or a form that Slurm judges
  for (const std::string& node : *nodes) {
    if (std::ranges::find(*others, node) == others->end()) continue;
    return usage(fmt::format("{} and {}", label_of(*wanted, *wanted->value),
                             label_of(*unwanted, *unwanted->value)),
                 fmt::format("both name {}", node), "name the node in only one of them");
  }
  return {};
}

// sbatch(1), --contiguous.
Result<void> check_contiguous(const JobRequest& job, const SlurmFacts& facts) {
  const std::string& plugin = facts.topology;
  if (job.find("--contiguous") == nullptr) return {};
  if (plugin != "tree" && plugin != "block" && plugin != "3d_torus") return {};
  return usage("--contiguous",
               fmt::format("has no effect here: topology/{} orders the nodes itself", plugin),
               plugin == "block" ? "use --segment N for groups of nodes in one block"
                                 : "use --switches N for at most N leaf switches");
}

void choose_nodes(JobRequest& job, const std::vector<NodeKind>& kinds) {
  if (says(job, "--nodes")) return;
  const JobOption* named = job.find("--nodelist");
  if (named != nullptr && named->value && !named->value->contains('/')) {  // not a file
    const auto names = hosts::expand_hostlist(*named->value);
    const std::size_t nodes = names ? std::set(names->begin(), names->end()).size() : 0;
    if (nodes > 0) return add(job, "--nodes", fmt::format("{}", nodes), "as --nodelist names");
  }
  const JobOption* gpus = job.find("--gpus");
  if (gpus == nullptr) return add(job, "--nodes", "1", "neither --nodes nor --nnodes is given");
  int most = 0;
  for (const NodeKind& kind : kinds) most = std::max(most, kind.gpus);
  if (most == 0) return;  // Slurm then takes as many as hold the GPUs
  const int requested = count_of(*gpus);
  const int nodes = (requested + most - 1) / most;
  add(job, "--nodes", fmt::format("{}", nodes),
      fmt::format("{} need {} of {} with {}", counted(requested, "GPU"), counted(nodes, "node"),
                  partition_words(job, kinds), most));
}

// The CPUs per node in proportion to the requested GPUs. The kind of node with the fewest CPUs
// decides, so that every kind can be used.
void choose_cpus(JobRequest& job, const std::vector<NodeKind>& kinds) {
  if (says(job, "--cpus-per-task") || says(job, "--exclusive") || says(job, "--cpus-per-gpu")) {
    return;
  }
  const int gpus = gpus_per_node(job);
  if (gpus == 0 && job.workers) {
    return add(job, "--cpus-per-task", fmt::format("{}", *job.workers),
               "one for each process on a node");
  }
  const NodeKind* poorest = nullptr;
  for (const NodeKind& kind : kinds) {
    if (gpus == 0 || kind.gpus < gpus || kind.cpus == 0) continue;
    if (poorest == nullptr || kind.cpus * poorest->gpus < poorest->cpus * kind.gpus) {
      poorest = &kind;
    }
  }
  if (poorest == nullptr) return;
  const std::int64_t cpus = std::int64_t{poorest->cpus} * gpus / poorest->gpus;
  add(job, "--cpus-per-task", fmt::format("{}", std::max<std::int64_t>(1, cpus)),
      fmt::format("a node of {} has {} CPUs for {} GPUs", partition_words(job, kinds),
                  poorest->cpus, poorest->gpus));
}

// Of more CPUs than the whole partition has, Slurm lets a job wait for ever (PartitionConfig),
// where EnforcePartLimits allows it.
Result<void> check_cpus(const JobRequest& job, const std::vector<NodeKind>& kinds) {
  const JobOption* cpus = job.find("--cpus-per-task");
  if (cpus == nullptr || says(job, "--overcommit") || job.has_raw("-O")) return {};
  if (std::ranges::find(kinds, 0, &NodeKind::cpus) != kinds.end()) return {};
  const auto requested = parse_int(cpus->value.value_or(""));
  const int most = std::ranges::max(kinds, {}, &NodeKind::cpus).cpus;
  if (!requested || *requested <= most) return {};
  const std::string limit =
      fmt::format("a node of {} has at most {} CPUs", partition_words(job, kinds), most);
  const bool is_typed = cpus->reason.empty();
  if (job.workers == requested && !is_typed) {
    return usage(fmt::format("--nproc-per-node {}", *requested),
                 limit + ", and toprun requests one for each process",
                 "start fewer processes on each node, or request fewer CPUs with --cpus-per-task");
  }
  return usage(label_of(*cpus, *cpus->value), limit,
               "request more nodes with fewer CPUs on each node");
}

// The least number of leaf switches that can hold the nodes.
int least_switches(std::vector<int> leaf_nodes, int nodes) {
  std::ranges::sort(leaf_nodes, std::greater<>());
  int switches = 0;
  for (const int size : leaf_nodes) {
    if (nodes <= 0) break;
    nodes -= size;
    ++switches;
  }
  return switches;
}

void choose_switches(JobRequest& job, const SlurmFacts& facts) {
  const int nodes = most_nodes(job);
  if (facts.topology != "tree" || nodes < 2) return;
  if (says(job, "--switches") || says(job, "--nodelist")) return;
  const int switches = least_switches(facts.leaf_nodes, nodes);
  if (switches == 0 || switches >= std::ssize(facts.leaf_nodes)) return;  // nothing to choose from
  add(job, "--switches", fmt::format("{}@{}", switches, switches_wait),
      fmt::format("topology/tree: {} can hold {} nodes; the job waits up to {} (min:s) for that",
                  counted(switches, "leaf switch"), nodes, switches_wait));
}

// The largest size of equal groups that fit into a block.
void choose_segment(JobRequest& job, const SlurmFacts& facts) {
  const int nodes = most_nodes(job);
  if (facts.topology != "block" || facts.block_nodes == 0 || nodes < 2) return;
  if (says(job, "--segment") || says(job, "--nodelist")) return;
  int size = std::min(nodes, facts.block_nodes);
  while (nodes % size != 0) --size;
  if (size < 2) return;
  add(job, "--segment", fmt::format("{}", size),
      fmt::format("topology/block: a block has {} nodes, and {} is the largest divisor of {} that "
                  "fits into a block",
                  facts.block_nodes, size, nodes));
}

// --segment is also an option of toprun. Without block topology it affects only the order of the
// ranks.
void drop_segment_without_blocks(JobRequest& job, const SlurmFacts& facts, Purpose purpose,
                                 std::vector<std::string>& notes) {
  if (job.find("--segment") == nullptr || facts.topology == "block") return;
  std::erase_if(job.options, [](const JobOption& option) { return option.name == "--segment"; });
  notes.push_back(
      fmt::format("--segment: Slurm supports it only with topology/block{}",
                  purpose == Purpose::batch ? ", so it affects only the order of the ranks" : ""));
}

Result<void> choose_files(JobRequest& job) {
  if (!says(job, "--output")) {
    const auto folder = TRY(literal_in_pattern(job.log_dir));
    add(job, "--output", fmt::format("{}/%x.{}.out", folder, job.is_array() ? "%A_%a" : "%j"),
        "beside the job's folder in the log directory");
  }
  if (!says(job, "--open-mode")) {
    add(job, "--open-mode", "append", "a requeued job keeps what it has written");
  }
  return {};
}

// The signal goes to the batch shell, which toprun has replaced. Slurm sends a step's signal to
// every process of the step, and processes without a handler end. "R:USR1@60" (at the end of a
// reservation) becomes "BR:…".
void choose_signal(JobRequest& job, std::vector<std::string>& notes) {
  const auto given = std::ranges::find(job.options, "--signal", &JobOption::name);
  if (given != job.options.end()) {
    std::string& value = *given->value;
    const std::string flags = lower(value.substr(0, value.find(':') + 1));
    if (flags.find('b') != std::string::npos) return;
    value = (flags.empty() ? "B:" : "B") + value;
    notes.push_back(fmt::format("--signal={}: toprun forwards it to ranks that handle it", value));
    return;
  }
  if (says(job, "--signal")) return;
  std::int64_t lead = default_signal_lead.count();
  const JobOption* time = job.find("--time");
  if (const auto limit = time == nullptr ? std::nullopt : slurm_seconds(*time->value)) {
    lead = std::clamp<std::int64_t>(*limit / shortest_share, 1, lead);
  }
  add(job, "--signal", fmt::format("B:USR2@{}", lead),
      fmt::format("workers that handle SIGUSR2 have {} s to save before the time limit", lead));
}

void choose_requeue(JobRequest& job) {
  if (says(job, "--requeue") || says(job, "--no-requeue")) return;
  job.options.push_back(
      {"--requeue", std::nullopt, "after a node's failure the job goes back into the queue"});
}

// Without --no-kill, Slurm ends a job that loses a node.
void choose_no_kill(JobRequest& job) {
  if (!job.survives_a_node || says(job, "--no-kill")) return;
  job.options.push_back(
      {"--no-kill", std::nullopt,
       "when a node fails, the job continues without this node or with a spare node"});
}

void tell_of_two_numbers_of_gpus(const JobRequest& job, std::vector<std::string>& notes) {
  const JobOption* each = job.find("--gpus-per-node");
  const JobOption* gres = job.find("--gres");
  if (each == nullptr || gres == nullptr) return;
  const int in_gres = gpus_in_gres(gres->value.value_or(""));
  if (in_gres == 0 || in_gres == count_of(*each)) return;
  notes.push_back(fmt::format(
      "--gpus-per-node {} and --gres {} request different numbers of GPUs on each node: leave one "
      "of them out",
      each->value.value_or(""), gres->value.value_or("")));
}

// Several ranks may share a GPU, but NCCL refuses it, and few mean it.
void tell_of_shared_gpus(const JobRequest& job, std::vector<std::string>& notes) {
  const int gpus = gpus_per_node(job);
  if (gpus == 0 || !job.workers || *job.workers <= gpus) return;
  notes.push_back(
      fmt::format("--nproc-per-node {}: the job requests {} on each node, so several "
                  "ranks share a GPU",
                  *job.workers, counted(gpus, "GPU")));
}

void tell_of_idle_gpus(const JobRequest& job, const std::vector<NodeKind>& kinds,
                       std::vector<std::string>& notes) {
  const bool all = !kinds.empty() &&
                   std::ranges::all_of(kinds, [](const NodeKind& kind) { return kind.gpus > 0; });
  for (const std::string_view name : {"--gpus", "--gpus-per-node", "--gres", "--gpus-per-task"}) {
    if (says(job, name)) return;
  }
  if (!all) return;
  notes.push_back(fmt::format(
      "the job requests no GPU, and a node of {} has {}: request them with --gpus-per-node {}",
      partition_words(job, kinds), kinds.front().gpus, kinds.front().gpus));
}

}  // namespace

Result<void> add_defaults(JobRequest& job, const SlurmFacts& facts, Purpose purpose,
                          std::vector<std::string>& notes) {
  if (auto known = check_partitions(job, facts); !known) return known;
  if (auto useful = check_contiguous(job, facts); !useful) return useful;
  if (auto possible = check_node_lists(job); !possible) return possible;
  const std::vector<NodeKind> kinds = kinds_for(job, facts);
  if (purpose == Purpose::setup) {
    add(job, "--nodes", "1", "an environment is built on one node");
  } else {
    choose_nodes(job, kinds);
  }
  if (!kinds.empty()) {
    if (auto fits = check_size(job, facts, kinds); !fits) return fits;
    if (auto fits = check_time(job, kinds); !fits) return fits;
  }
  // From a range of nodes, Slurm allocates only as many as the tasks need.
  if (!says(job, "--ntasks-per-node") && !is_range(job)) {
    add(job, "--ntasks-per-node", "1",
        purpose == Purpose::setup ? "one program builds the environment"
        : !job.launcher.empty()   ? "mpirun starts every rank, in slots that toprun sets"
                                  : "one agent per node starts all of its processes");
  }
  choose_cpus(job, kinds);
  if (!kinds.empty()) {
    if (auto fits = check_cpus(job, kinds); !fits) return fits;
  }
  if (purpose == Purpose::setup) {
    choose_requeue(job);
    return choose_files(job);
  }
  tell_of_idle_gpus(job, kinds, notes);
  tell_of_shared_gpus(job, notes);
  tell_of_two_numbers_of_gpus(job, notes);
  drop_segment_without_blocks(job, facts, purpose, notes);
  if (purpose == Purpose::shell) return {};  // a user waits for it: no wish for near nodes either
  choose_switches(job, facts);
  choose_segment(job, facts);
  choose_no_kill(job);
  choose_requeue(job);
  choose_signal(job, notes);
  tell_minutes(job, notes);
  return choose_files(job);
}

}  // namespace toprun::engines
