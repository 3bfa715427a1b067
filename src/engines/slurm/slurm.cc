#include "engines/slurm/slurm.h"

#include <algorithm>
#include <array>
#include <unordered_map>

#include "base/net/hostlist.h"
#include "base/process/command.h"
#include "base/text/text.h"
#include "engines/slurm/facts.h"
#include "engines/slurm/slurm_jobs.h"
#include "engines/slurm/variables.h"

namespace toprun::engines {
namespace {

constexpr std::chrono::seconds default_kill_wait{30};  // slurm.conf(5), KillWait

// The facts for every stance: the job, the node and its location.
Result<Allocation> common_facts(const Environment& environment, const Hints& hints,
                                const std::optional<slurm::Step>& step) {
  const auto job = TRY(slurm::job_id(environment));
  Allocation allocation;
  allocation.engine = EngineKind::slurm;
  allocation.port = slurm_port(job, step ? step->id : 0);
  const auto cluster = environment.non_empty("SLURM_CLUSTER_NAME");
  allocation.job = fmt::format("slurm.{}{}.{}", cluster ? *cluster + "." : "", job,
                               step ? fmt::format("{}", step->id) : "batch");
  allocation.node_name = environment.non_empty("SLURMD_NODENAME").value_or(hints.host_name);
  allocation.location = environment.non_empty("SLURM_TOPOLOGY_ADDR");
  allocation.kill_wait = default_kill_wait;
  allocation.location_pattern = environment.non_empty("SLURM_TOPOLOGY_ADDR_PATTERN");
  return allocation;
}

// The user wants one node, so the step's variables are not read.
Result<Allocation> single_by_wish(const Environment& environment, const Hints& hints) {
  auto allocation = common_facts(environment, hints, std::nullopt);
  if (!allocation) return allocation;
  allocation->node_count_source = hints.standalone ? "--standalone" : hints.nnodes_source;
  allocation->my_node = 0;
  allocation->reasons.push_back(fmt::format("one node by {}", allocation->node_count_source));
  if (!environment.has("SLURMD_NODENAME")) {
    allocation->notes.push_back(
        fmt::format("{} runs the ranks on this host ({}), which is not a node of the Slurm job; "
                    "for one of its nodes type: srun -N1 -n1 toprun …",
                    allocation->node_count_source, hints.host_name));
  }
  return allocation;
}

bool has_agent_per_node(const Hints& hints, const slurm::Step& step) {
  return step.tasks == std::ssize(step.nodes) && !hints.ranks_in_place;
}

std::unexpected<Error> other_node_count(const Hints& hints, const slurm::Step& step) {
  const bool can_be_spares = has_agent_per_node(hints, step) && *hints.nnodes > 1 &&
                             *hints.nnodes < std::ssize(step.nodes);
  return usage(
      fmt::format("{} {}", hints.nnodes_source, *hints.nnodes),
      fmt::format("this Slurm step has {} tasks on {}", step.tasks,
                  counted(step.nodes.size(), "node")),
      fmt::format("drop {} or start the step with srun -N {}{}", hints.nnodes_source, *hints.nnodes,
                  can_be_spares
                      ? "; with --max-restarts the nodes that the job does not need wait as spares"
                      : ""));
}

// How many of the step's nodes begin; the others are spares. Unset: it has too few or too many.
std::optional<int> used_nodes(const Hints& hints, const slurm::Step& step) {
  const auto all = static_cast<int>(std::ssize(step.nodes));
  const auto used = hints.use_of(all);
  const bool takes_all = used == all;
  const bool has_spares = hints.replaces_nodes && used > 1 && has_agent_per_node(hints, step);
  return takes_all || has_spares ? used : std::nullopt;
}

// The slots per node from the job's header, as the starter passed them on.
Result<std::unordered_map<std::string, int>> slots_of_starter(const Environment& environment) {
  std::unordered_map<std::string, int> slots;
  if (!environment.non_empty(slurm::slots_variable)) return slots;
  const auto counts = TRY(slurm::counts(environment, slurm::slots_variable));
  const auto nodes = TRY(slurm::job_nodes(environment));
  if (counts.size() != nodes.size()) {
    return fail(
        fmt::format("{}=\"{}\"", slurm::slots_variable, *environment.get(slurm::slots_variable)),
        fmt::format("SLURM_JOB_NODELIST has {}", counted(nodes.size(), "node")),
        "only toprun may set this variable");
  }
  for (std::size_t i = 0; i < nodes.size(); ++i) slots[nodes[i]] = counts[i];
  return slots;
}

Result<Allocation> in_place(const Environment& environment, const slurm::Step& step,
                            Allocation allocation) {
  const int here = step.tasks_per_node[static_cast<std::size_t>(*allocation.my_node)];
  const auto local_rank = TRY(slurm::required_number(environment, "SLURM_LOCALID", 0, here - 1));
  allocation.stance = Stance::in_place;
  allocation.local_rank = static_cast<int>(local_rank);
  allocation.tasks_on_my_node = here;
  for (std::size_t i = 0; i < step.nodes.size(); ++i) {
    allocation.nodes[i].slots = step.tasks_per_node[i];
  }
  allocation.reasons.push_back(fmt::format("ranks in place: this Slurm step has {} tasks on {}",
                                           step.tasks, counted(step.nodes.size(), "node")));
  return allocation;
}

Result<Allocation> own_agent(const Environment& environment, const slurm::Step& step,
                             Allocation allocation) {
  if (step.tasks != std::ssize(step.nodes)) {
    return fail(fmt::format("the Slurm step that toprun started has {} tasks on {}", step.tasks,
                            counted(step.nodes.size(), "node")),
                "it needs one task per node",
                "unset TOPRUN_STEP if you started this step yourself");
  }
  const auto slots = TRY(slots_of_starter(environment));
  for (Node& node : allocation.nodes) {
    if (const auto found = slots.find(node.name); found != slots.end()) node.slots = found->second;
  }
  const auto components = TRY(slurm::het_components(environment));
  allocation.stance = Stance::agent;
  allocation.started_by_toprun = true;
  if (!components.empty()) {
    allocation.hears_launcher =
        *allocation.my_node < std::ssize(components.front().nodes);  // as srun's input goes
  }
  allocation.reasons.push_back("agent of one node: toprun's own Slurm step");
  return allocation;
}

// This process is one task of a step that the user started.
Result<Allocation> users_step(const Environment& environment, const Hints& hints,
                              const slurm::Step& step, Allocation allocation) {
  if (slurm::shares_terminal(environment, step, hints.terminal)) {
    return slurm::refuse_shared_terminal(step);
  }
  if (step.tasks > std::ssize(step.nodes) || hints.ranks_in_place) {
    return in_place(environment, step, std::move(allocation));
  }
  if (step.tasks < std::ssize(step.nodes)) {
    return fail(fmt::format("this Slurm step has {} tasks on {}", step.tasks,
                            counted(step.nodes.size(), "node")),
                "some nodes have no task",
                "start one task per node: srun --ntasks-per-node=1 toprun …");
  }
  const bool alone = step.tasks == 1;
  allocation.stance = alone ? Stance::single : Stance::agent;
  allocation.reasons.push_back(fmt::format("{}: this Slurm step has {}",
                                           alone ? "one node" : "agent of one node",
                                           alone ? "one task" : "as many tasks as nodes"));
  return allocation;
}

Result<Allocation> in_step(const Environment& environment, const Hints& hints,
                           const slurm::Step& step, Allocation allocation) {
  const auto node_count = std::ssize(step.nodes);
  const auto index = TRY(slurm::required_number(environment, "SLURM_NODEID", 0, node_count - 1));
  const auto used = used_nodes(hints, step);
  if (!used) return other_node_count(hints, step);
  allocation.started_together = true;
  allocation.node_count = *used;
  allocation.node_count_source = hints.nnodes ? hints.nnodes_source : "SLURM_STEP_NODELIST";
  for (const std::string& name : step.nodes) allocation.nodes.push_back({name, std::nullopt});
  allocation.my_node = static_cast<int>(index);
  allocation.task_in_order = TRY(slurm::task_number(environment));
  if (environment.has(slurm::own_step_variable)) {
    return own_agent(environment, step, std::move(allocation));
  }
  return users_step(environment, hints, step, std::move(allocation));
}

// The job's nodes with the numbers of processes from the job's header.
Result<std::vector<Node>> nodes_of_job(const Environment& environment) {
  const auto names = TRY(slurm::job_nodes(environment));
  const auto slots = TRY(slurm::requested_tasks(environment, names.size()));
  std::vector<Node> nodes;
  for (std::size_t i = 0; i < names.size(); ++i) {
    nodes.push_back({names[i], slots ? std::optional((*slots)[i]) : std::nullopt});
  }
  return nodes;
}

std::unexpected<Error> too_many_nodes(const Hints& hints, const std::vector<Node>& nodes) {
  std::vector<std::string> names;
  for (const Node& node : nodes) names.push_back(node.name);
  return usage(fmt::format("{} {}", hints.nnodes_source, *hints.nnodes),
               fmt::format("the Slurm job has {}: {}", counted(nodes.size(), "node"),
                           hosts::compress_hostlist(names)),
               fmt::format("request more nodes in the job's header (--nodes={})", *hints.nnodes));
}

Result<Allocation> starter(const Hints& hints, Allocation allocation) {
  const std::string nodes = counted(allocation.node_count, "node");
  if (hints.node_rank) {
    return usage(
        fmt::format("--node-rank {}", *hints.node_rank),
        fmt::format("toprun starts {} of this Slurm job itself", nodes),
        "drop --node-rank, or give --nnodes and --rdzv-endpoint too and start every node yourself");
  }
  allocation.stance = Stance::starter;
  allocation.reasons.push_back(
      fmt::format("starter of {}: a Slurm batch script or an allocation's shell", nodes));
  return allocation;
}

// This process runs in a batch script or in the shell of an allocation.
Result<Allocation> outside_steps(const Environment& environment, const Hints& hints,
                                 Allocation allocation) {
  if (hints.ranks_in_place) {
    return usage("--ranks-in-place", "Slurm did not start one process per rank here",
                 "start toprun by srun -n RANKS, or drop the option");
  }
  auto nodes = TRY(nodes_of_job(environment));
  const int all = static_cast<int>(nodes.size());
  const std::optional<int> used = hints.use_of(all);
  if (!used) return too_many_nodes(hints, nodes);
  if (*used < all && environment.non_empty("SLURM_HET_SIZE").value_or("1") != "1") {
    return usage(fmt::format("{} {}", hints.nnodes_source, *used),
                 fmt::format("toprun uses all components of a heterogeneous Slurm job: {}",
                             counted(nodes.size(), "node")),
                 "drop it, or start one component's nodes by srun --het-group=N toprun …");
  }
  allocation.node_count = *used;
  allocation.node_count_source = hints.nnodes ? hints.nnodes_source : "SLURM_JOB_NODELIST";
  const std::string here = environment.get("SLURMD_NODENAME").value_or("");
  const auto own = std::ranges::find(nodes, here, &Node::name);
  if (allocation.node_count > 1 || own == nodes.end()) {
    allocation.nodes = std::move(nodes);
    return starter(hints, std::move(allocation));
  }
  allocation.nodes = {*own};
  allocation.my_node = 0;
  allocation.reasons.push_back(
      "one node: the node of this batch script, so no Slurm step is needed");
  return allocation;
}

}  // namespace

int slurm_port(std::int64_t job, std::int64_t step) {
  return engine_port(job * 7 + step);
}

Result<std::optional<Allocation>> SlurmEngine::detect(const Environment& environment,
                                                      const Hints& hints) const {
  if (!environment.has("SLURM_JOB_ID")) return std::nullopt;
  if (wants_single(hints)) return single_by_wish(environment, hints);
  const auto step = TRY(slurm::step(environment));
  auto allocation = TRY(common_facts(environment, hints, step));
  if (step) return in_step(environment, hints, *step, std::move(allocation));
  return outside_steps(environment, hints, std::move(allocation));
}

std::vector<std::string> nodes_in_sstat(std::string_view text) {
  std::vector<std::string> names;
  for (const std::string_view line : split(text, '\n')) {
    const auto fields = split(line, '|');
    if (fields.size() < 3 || trim(fields[2]).empty()) continue;
    const auto nodes = hosts::expand_hostlist(trim(fields[1]));
    if (nodes) names.insert(names.end(), nodes->begin(), nodes->end());
  }
  return names;
}

bool prolog_delays_steps(std::string_view config) {
  const auto is_set = [&](const char* key) {
    const std::string value = slurm::config_value(config, key);
    return !value.empty() && value != "(null)";
  };
  if (!is_set("Prolog") && !is_set("Prolog[0]")) return false;  // newer Slurms number several
  const std::string flags = lower(slurm::config_value(config, "PrologFlags"));
  // Contain and X11 imply Alloc (slurm.conf(5)).
  return std::ranges::none_of(std::array{"alloc", "contain", "x11"}, [&](const char* flag) {
    return flags.find(flag) != std::string::npos;
  });
}

std::optional<Presence> SlurmEngine::presence(const Environment& environment) const {
  const auto job = environment.non_empty("SLURM_JOB_ID");
  const auto step = environment.non_empty("SLURM_STEP_ID");
  if (!job || !step || environment.has("SLURM_HET_SIZE")) return std::nullopt;
  const auto processes = process::output_of(
      {"sstat", "--noheader", "--parsable2", "--pidformat", "-j", *job + "." + *step}, environment,
      slurm_answer_limit(environment));
  if (!processes) return std::nullopt;
  const auto config = process::output_of({"scontrol", "show", "config"}, environment,
                                         slurm_answer_limit(environment));
  return Presence{nodes_in_sstat(*processes), !config || prolog_delays_steps(*config)};
}

void SlurmEngine::end_step(const Environment& environment) const {
  const auto job = environment.non_empty("SLURM_JOB_ID");
  const auto step = environment.non_empty("SLURM_STEP_ID");
  if (!job || !step) return;
  [[maybe_unused]] const auto done =
      process::run({"scancel", *job + "." + *step}, environment, slurm_answer_limit(environment));
}

}  // namespace toprun::engines
