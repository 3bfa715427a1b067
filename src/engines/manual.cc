#include "engines/manual.h"

#include <algorithm>

#include "base/text/text.h"
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

constexpr std::int64_t most_processes = 10'000'000;
constexpr std::int64_t most_port = 65'528;  // some of the next ones are tried too

// Whether the variable is set and not empty.
struct Variables {
  std::optional<std::string> rank;
  std::optional<std::string> size;
};

std::optional<std::int64_t> count_in(const std::optional<std::string>& text) {
  const auto value = parse_int(text.value_or(""));
  return value && *value >= 0 && *value <= most_processes ? value : std::nullopt;
}

std::string where_to_meet(const Environment& environment) {
  const auto host = environment.non_empty("MASTER_ADDR");
  const auto port = environment.non_empty("MASTER_PORT");
  std::string words = " --master-addr " + host.value_or("HOST");
  if (port) words += " --master-port " + *port;
  return words;
}

Error contradiction(const Variables& set) {
  return {fmt::format("RANK={} and WORLD_SIZE={}", set.rank.value_or(""), set.size.value_or("")),
          "RANK must be a number from 0, and WORLD_SIZE must be a larger number",
          "correct or unset both variables", exit_usage};
}

// The error for N processes that would each train alone with a result that looks complete.
Error many_worlds(const Environment& environment, const Variables& set) {
  const bool launched = environment.has("TORCHELASTIC_RUN_ID");
  return {
      fmt::format("RANK={} and WORLD_SIZE={} are set", *set.rank, *set.size),
      launched
          ? "another torchrun or toprun started this process, and each of its processes would "
            "train on its own"
          : fmt::format("another program has started {} processes, and each toprun would train "
                        "on its own",
                        *set.size),
      fmt::format("for one toprun per node: --nnodes {} --node-rank {}{}; for one per rank: "
                  "--ranks-in-place; to train on its own: --standalone, or unset both variables",
                  *set.size, *set.rank, where_to_meet(environment)),
      exit_usage};
}

Result<int> number_of(const Environment& environment, const char* name) {
  const auto text = environment.non_empty(name);
  if (!text) {
    return usage(
        "--ranks-in-place",
        fmt::format("no engine started one process per rank here, and {} is not set", name),
        "start toprun by srun -n RANKS, or set RANK, WORLD_SIZE, LOCAL_RANK and "
        "MASTER_ADDR for each process");
  }
  const auto value = count_in(text);
  if (!value)
    return usage(fmt::format("{}={}", name, *text), "is not a number", "correct the variable");
  return static_cast<int>(*value);
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
        fmt::format("{} {}{} without --rdzv-endpoint or --master-addr: toprun waits for the other "
                    "nodes' toprun on this same host; for other hosts, give each "
                    "--rdzv-endpoint HOST:PORT, or use --hosts",
                    hints.nnodes_source,
                    hints.min_nodes ? fmt::format("{}:", *hints.min_nodes) : "", *hints.nnodes));
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

Result<std::optional<std::string>> check_inherited_world(const Environment& environment,
                                                         const Hints& hints) {
  const Variables set{environment.non_empty("RANK"), environment.non_empty("WORLD_SIZE")};
  const bool reported = hints.nnodes || hints.standalone;
  if (reported || !set.size || set.size == "1") return std::nullopt;
  const auto rank = count_in(set.rank);
  const auto size = count_in(set.size);
  const bool possible = size && *size > 0 && (!set.rank || (rank && *rank < *size));
  std::optional<Error> error;
  if (!possible) {
    error = contradiction(set);
  } else if (set.rank) {
    error = many_worlds(environment, set);
  } else {
    return fmt::format(
        "WORLD_SIZE={} is set but RANK is not: toprun starts one node on its own; for several "
        "nodes give --nnodes N and --rdzv-endpoint",
        *set.size);
  }
  if (hints.called_torchrun || hints.counts_processes) {
    return fmt::format("{}; toprun continues, because {}", error->line(),
                       hints.called_torchrun ? "torchrun does" : "--nproc-per-node is given");
  }
  return std::unexpected(std::move(*error));
}

std::optional<std::string> other_nodes_of_a_foreign_job(const Environment& environment,
                                                        const Hints& hints) {
  if (hints.nnodes || hints.standalone || hints.ranks_in_place) return std::nullopt;
  const auto number = [&](const char* name) {
    return static_cast<int>(count_in(environment.non_empty(name)).value_or(0));
  };
  const auto say = [](std::string_view engine, int nodes, std::string_view by,
                      std::string_view fix) {
    return fmt::format("the {} job has {} nodes ({}), and this toprun starts one; for all nodes {}",
                       engine, nodes, by, fix);
  };
  if (const int nodes = number("SKYPILOT_NUM_NODES"); nodes > 1) {
    return say("SkyPilot", nodes, "SKYPILOT_NUM_NODES",
               "add --nnodes $SKYPILOT_NUM_NODES --node-rank $SKYPILOT_NODE_RANK --master-addr "
               "$(echo \"$SKYPILOT_NODE_IPS\" | head -n 1)");
  }
  if (const auto listed = environment.non_empty("SM_HOSTS")) {
    // A list of JSON, of names without commas in them.
    const auto nodes = static_cast<int>(split(*listed, ',').size());
    if (nodes > 1) {
      return say("SageMaker", nodes, "SM_HOSTS",
                 fmt::format("add --nnodes {} --rdzv-backend c10d --rdzv-endpoint algo-1", nodes));
    }
  }
  if (const auto listed = environment.non_empty("LSB_MCPU_HOSTS")) {
    // "hostA 4 hostB 4"
    const auto nodes = static_cast<int>(words(*listed).size() / 2);
    if (nodes > 1) {
      return say("LSF", nodes, "LSB_MCPU_HOSTS", "add --hosts \"$LSB_MCPU_HOSTS\"");
    }
  }
  const int nodes = std::max(hints.pbs_nodes, number("PBS_NUM_NODES"));
  if (nodes < 2) return std::nullopt;
  return say("PBS", nodes, hints.pbs_nodes > 1 ? "PBS_NODEFILE" : "PBS_NUM_NODES",
             "add --hostfile $PBS_NODEFILE");
}

Result<Allocation> in_place_by_variables(const Environment& environment, const Hints& hints) {
  const auto rank = number_of(environment, "RANK");
  const auto size = number_of(environment, "WORLD_SIZE");
  const auto local_rank = number_of(environment, "LOCAL_RANK");
  for (const auto* value : {&rank, &size, &local_rank}) {
    if (!*value) return std::unexpected(value->error());
  }
  const auto host = environment.non_empty("MASTER_ADDR");
  if (!host) return std::unexpected(number_of(environment, "MASTER_ADDR").error());
  if (*rank >= *size) {
    return std::unexpected(contradiction({fmt::to_string(*rank), fmt::to_string(*size)}));
  }
  Allocation allocation;
  allocation.engine = EngineKind::manual;
  allocation.stance = Stance::in_place;
  allocation.node_count_source = "WORLD_SIZE";
  allocation.nodes_estimated = true;
  if (const auto each = count_in(environment.non_empty("LOCAL_WORLD_SIZE")); each && *each > 0) {
    allocation.node_count = std::max(1, *size / static_cast<int>(*each));
    allocation.tasks_on_my_node = static_cast<int>(*each);
  }
  const auto port = parse_int(environment.non_empty("MASTER_PORT").value_or(""));
  if (port && *port > 0 && *port <= most_port) allocation.port = static_cast<int>(*port);
  allocation.job = fmt::format("env.{}.{}", *host, allocation.port.value_or(0));
  allocation.task = *rank;
  allocation.tasks = *size;
  allocation.local_rank = *local_rank;
  allocation.root_candidates = {*host};
  allocation.node_name = hints.host_name;
  allocation.reasons.push_back(
      fmt::format("ranks in place: process {} of {} by RANK and WORLD_SIZE", *rank, *size));
  return allocation;
}

}  // namespace toprun::engines
