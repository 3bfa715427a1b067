#include "engines/manual.h"

#include <algorithm>

#include "engines/inherited_world.h"
#include "engines/slurm/variables.h"

namespace toprun::engines {
namespace {

std::vector<Node> named(const std::vector<std::string>& names) {
  std::vector<Node> nodes;
  for (const std::string& name : names) nodes.push_back({name, std::nullopt});
  return nodes;
}

// The user's values for this node have priority over an engine's.
void take_user_index(Allocation& allocation, const Hints& hints) {
  if (hints.node_rank) {
    allocation.my_node = hints.node_rank;
    allocation.reasons.push_back(fmt::format("node {} by --node-rank", *hints.node_rank));
  } else if (hints.node_index) {
    allocation.my_node = hints.node_index;
    allocation.reasons.push_back(fmt::format("node {} by PET_NODE_RANK", *hints.node_index));
  }
}

Result<void> check_index(const Allocation& allocation) {
  if (!allocation.my_node || *allocation.my_node < allocation.node_count) return {};
  return usage(fmt::format("node rank {}", *allocation.my_node),
               fmt::format("there are only {} nodes ({})", allocation.node_count,
                           allocation.node_count_source),
               "node ranks begin at 0");
}

// The user started one toprun per task.
Result<void> take_index_of_task(const Environment& environment, const slurm::Step& step,
                                Allocation& allocation) {
  const bool one_each = std::ssize(step.nodes) == step.tasks;
  const std::string variable = one_each ? "SLURM_NODEID" : "SLURM_PROCID";
  const auto index = TRY(slurm::required_number(environment, variable, 0, step.tasks - 1));
  allocation.my_node = static_cast<int>(index);
  allocation.task_in_order = TRY(slurm::task_number(environment));
  if (one_each) allocation.nodes = named(step.nodes);
  if (!one_each) allocation.root_candidates = step.nodes;
  allocation.reasons.push_back(fmt::format("node {} by {}", index, variable));
  return {};
}

// The user started a separate step for every node, or toprun runs in the batch script itself.
Result<void> take_index_in_job(const Environment& environment, Allocation& allocation) {
  auto nodes = TRY(slurm::job_nodes(environment));
  if (std::ssize(nodes) != allocation.node_count) return {};
  const auto found = std::ranges::find(nodes, environment.get("SLURMD_NODENAME").value_or(""));
  if (found != nodes.end()) {
    allocation.my_node = static_cast<int>(found - nodes.begin());
    allocation.reasons.push_back(fmt::format("node {} by the position of {} in SLURM_JOB_NODELIST",
                                             *allocation.my_node, *found));
  }
  allocation.nodes = named(nodes);
  return {};
}

constexpr const char* started_alone_note =
    "this toprun starts one node of {} and waits for the others; to start all nodes, drop {} and "
    "--node-rank";

// nullopt if the Slurm engine has better information.
Result<std::optional<Allocation>> detect_in_slurm(const Environment& environment,
                                                  const Hints& hints, Allocation allocation) {
  const auto step = TRY(slurm::step(environment));
  const int nnodes = allocation.node_count;
  Result<void> indexed;
  if (step && step->tasks > 1) {
    const slurm::Step& ours = *step;
    if (slurm::shares_terminal(environment, ours, hints.terminal)) {
      return slurm::refuse_shared_terminal(ours);
    }
    if (ours.tasks != nnodes) {
      if (std::ssize(ours.nodes) == nnodes) return std::nullopt;
      return usage(
          fmt::format("{} {}", hints.nnodes_source, nnodes),
          fmt::format(
              "this Slurm step has {} tasks on {} nodes, and each task is a separate toprun",
              ours.tasks, ours.nodes.size()),
          fmt::format("start one task per node: srun -N {} --ntasks-per-node=1 toprun …", nnodes));
    }
    indexed = take_index_of_task(environment, ours, allocation);
    allocation.started_together = true;
  } else {
    indexed = take_index_in_job(environment, allocation);
  }
  if (!indexed) return std::unexpected(indexed.error());
  if (!step && !hints.node_rank && !hints.node_index) {
    allocation.notes.push_back(fmt::format(started_alone_note, nnodes, hints.endpoint_source));
  }
  allocation.location = environment.non_empty("SLURM_TOPOLOGY_ADDR");
  allocation.location_pattern = environment.non_empty("SLURM_TOPOLOGY_ADDR_PATTERN");
  allocation.node_name = environment.non_empty("SLURMD_NODENAME").value_or(hints.host_name);
  return allocation;
}

}  // namespace

Result<std::optional<Allocation>> ManualEngine::detect(const Environment& environment,
                                                       const Hints& hints) const {
  if (hints.nnodes.value_or(1) < 2 || hints.ranks_in_place) return std::nullopt;
  const bool in_slurm = environment.has("SLURM_JOB_ID");
  const bool ordered_to_meet = on_command_line(hints.endpoint_source);
  if (in_slurm && (!ordered_to_meet || environment.has(slurm::own_step_variable)))
    return std::nullopt;
  Allocation allocation;
  allocation.engine = kind();
  allocation.stance = Stance::agent;
  allocation.node_count = *hints.nnodes;
  allocation.node_count_source = hints.nnodes_source;
  allocation.node_name = hints.host_name;
  allocation.reasons.push_back(
      fmt::format("agent of one node: {} {}{}", hints.nnodes_source, *hints.nnodes,
                  hints.endpoint_source.empty() ? "" : " and " + hints.endpoint_source));
  if (in_slurm) {
    auto found = detect_in_slurm(environment, hints, std::move(allocation));
    if (!found || !*found) return found;
    allocation = std::move(**found);
  } else if (hints.endpoint_source.empty()) {
    allocation.notes.push_back(
        fmt::format("{} {} without --rdzv-endpoint or --master-addr: the other nodes' toprun must "
                    "be started on this host",
                    hints.nnodes_source, *hints.nnodes));
  }
  take_user_index(allocation, hints);
  TRY(check_index(allocation));
  return allocation;
}

Result<std::optional<Allocation>> LocalEngine::detect(const Environment& environment,
                                                      const Hints& hints) const {
  if (hints.ranks_in_place) {
    auto place = TRY(in_place_by_variables(environment, hints));
    return std::move(place);
  }
  auto note = TRY(check_inherited_world(environment, hints));
  Allocation allocation;
  allocation.engine = kind();
  allocation.node_count_source = hints.standalone ? "--standalone"
                                 : hints.nnodes   ? hints.nnodes_source
                                                  : "default";
  allocation.my_node = 0;
  allocation.node_name = hints.host_name;
  if (note) allocation.notes.push_back(*note);
  if (auto others = other_nodes_of_a_foreign_job(environment, hints)) {
    allocation.notes.push_back(*std::move(others));
  }
  allocation.reasons.push_back("one node: this host, because no engine's variables are set");
  return allocation;
}

}  // namespace toprun::engines
