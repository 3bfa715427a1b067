#include "engines/mpi/mpi.h"

#include <algorithm>

#include "base/text/text.h"
#include "engines/allocation.h"
#include "engines/manual.h"
#include "engines/mpi/mpirun.h"
#include "engines/mpi/world.h"
#include "engines/slurm/slurm.h"
#include "engines/slurm/variables.h"

namespace toprun::engines {
namespace {

// FNV-1a: neighbouring jobs get different ports.
int port_of(std::string_view job) {
  std::uint32_t hash = 2'166'136'261u;
  for (const char c : job) hash = (hash ^ static_cast<unsigned char>(c)) * 16'777'619u;
  return engine_port(hash);
}

// If no variable contains the number of nodes, the other nodes are assumed to be like this one.
int node_count(const MpiWorld& world) {
  return world.nodes.value_or((world.size + world.local_size - 1) / world.local_size);
}

std::string world_text(const MpiWorld& world) {
  return fmt::format("{} started {} on {}{}", world.launcher, counted(world.size, "process"),
                     world.nodes ? "" : "about ", counted(node_count(world), "node"));
}

Result<void> check_node_count(const MpiWorld& world, const Hints& hints) {
  const int nodes = node_count(world);
  if (hints.use_of(nodes) == nodes || (hints.nnodes && !world.nodes)) return {};
  return usage(fmt::format("{} {}", hints.nnodes_source, *hints.nnodes), world_text(world),
               fmt::format("drop {} or start one process on each of {}: mpirun --map-by ppr:1:node",
                           hints.nnodes_source, counted(*hints.nnodes, "node")));
}

// Hydra's processes exchanged more facts by PMI than their variables contain.
void take(MpiWorld& world, const PmiMeeting& meeting) {
  world.job = meeting.job;
  world.nodes = meeting.nodes;
  world.hosts.clear();
  for (const std::string_view host : split(meeting.said, ',')) world.hosts.emplace_back(host);
}

Stance stance_of(const MpiWorld& world, const Hints& hints) {
  if (hints.ranks_in_place) return Stance::in_place;
  if (world.size == 1) return Stance::single;
  return node_count(world) == world.size ? Stance::agent : Stance::in_place;
}

std::string words_for(Stance stance) {
  switch (stance) {
    case Stance::in_place:
      return "ranks in place";
    case Stance::agent:
      return "agent of one node";
    case Stance::single:
    case Stance::starter:
      break;
  }
  return "one node";
}

Allocation allocation_of(const Environment& environment, const MpiWorld& world,
                         const Hints& hints) {
  Allocation allocation;
  allocation.engine = EngineKind::mpi;
  allocation.started_together = true;
  allocation.stance = stance_of(world, hints);
  allocation.node_count = hints.nnodes && !world.nodes ? *hints.nnodes : node_count(world);
  allocation.node_count_source = hints.nnodes ? hints.nnodes_source : world.launcher;
  allocation.node_name = hints.host_name;
  allocation.nodes_estimated = !world.nodes;
  allocation.task = world.rank;
  allocation.tasks = world.size;
  allocation.root_candidates = world.hosts;
  allocation.job = "mpi." + (world.job.empty() ? std::string("world") : world.job);
  allocation.key = world.key;
  allocation.port = port_of(allocation.job);
  allocation.location = environment.non_empty("SLURM_TOPOLOGY_ADDR");
  allocation.location_pattern = environment.non_empty("SLURM_TOPOLOGY_ADDR_PATTERN");
  allocation.reasons.push_back(
      fmt::format("{}: {}", words_for(allocation.stance), world_text(world)));
  if (allocation.stance == Stance::in_place) {
    allocation.local_rank = world.local_rank;
    allocation.tasks_on_my_node = world.local_size;
  } else {
    allocation.my_node = world.rank;
  }
  return allocation;
}

std::string first_label(std::string_view name) {
  return std::string(name.substr(0, name.find('.')));
}

// mpirun started one agent on each of our nodes, in its own order.
Result<Allocation> own_agent(const Environment& environment, const MpiWorld& world,
                             const Hints& hints) {
  Hints nothing_else;
  nothing_else.host_name = hints.host_name;
  Allocation allocation = allocation_of(environment, world, nothing_else);
  auto nodes =
      TRY(parse_node_list(mpi_nodes_variable, environment.get(mpi_nodes_variable).value_or("")));
  if (std::ssize(nodes) != world.size || world.local_size != 1) {
    return fail(
        fmt::format("the mpirun that toprun started has {} for {}", counted(world.size, "process"),
                    counted(static_cast<int>(nodes.size()), "node")),
        "toprun needs one process on each node",
        "unset TOPRUN_STEP if you started mpirun yourself");
  }
  allocation.stance = Stance::agent;
  allocation.node_count = world.size;
  allocation.started_by_toprun = true;
  allocation.hears_launcher = world.rank == 0;  // mpirun hands standard input on to rank 0 alone
  allocation.nodes = std::move(nodes);
  const auto here = std::ranges::find(allocation.nodes, first_label(hints.host_name),
                                      [](const Node& node) { return first_label(node.name); });
  if (here != allocation.nodes.end()) {
    allocation.my_node = static_cast<int>(here - allocation.nodes.begin());
    allocation.node_name = here->name;
  }
  allocation.root_candidates.clear();
  for (const Node& node : allocation.nodes) {
    if (allocation.root_candidates.size() < max_root_candidates) {
      allocation.root_candidates.push_back(node.name);
    }
  }
  return allocation;
}

std::unexpected<Error> started_already(const Hints& hints) {
  return usage(fmt::format("{} mpirun", hints.via), "Slurm has started one toprun per node already",
               fmt::format("drop {}", hints.via));
}

Result<void> check_start(const Environment& environment, const Hints& hints) {
  const auto refuse = [&](std::string_view option, std::string_view why) {
    return usage(fmt::format("{} with {} mpirun", option, hints.via), std::string(why),
                 "drop one of them");
  };
  if (hints.standalone) return refuse("--standalone", "--standalone works only on this host");
  if (hints.ranks_in_place) return refuse("--ranks-in-place", "mpirun is not running yet");
  if (hints.node_rank) return refuse("--node-rank", "mpirun starts all nodes");
  if (on_command_line(hints.endpoint_source)) {
    return refuse(hints.endpoint_source, "the agents find each other");
  }
  const auto step = slurm::step(environment);
  if (step && *step && (*step)->tasks > 1) return started_already(hints);
  const auto world = TRY(mpi_world(environment));
  if (!world) return {};
  return usage(fmt::format("{} mpirun", hints.via),
               fmt::format("{} has started this process already", world->launcher),
               fmt::format("drop {}", hints.via));
}

Result<Allocation> named_hosts(const Hints& hints) {
  Allocation allocation;
  const int listed = static_cast<int>(hints.hosts.size());
  const auto count = hints.use_of(listed);
  if (!count) {
    return usage(fmt::format("{} {}", hints.nnodes_source, *hints.nnodes),
                 fmt::format("{} names {}", hints.hosts_source, counted(listed, "host")));
  }
  for (const Node& node : hints.hosts) {
    if (node.login.empty() || node.login == node.name) continue;
    return usage(fmt::format("{} in {}", node.login, hints.hosts_source),
                 "mpirun takes the user name only from ssh's configuration",
                 "give only the host's name");
  }
  allocation.nodes = hints.hosts;
  allocation.node_count = *count;
  allocation.node_count_source = hints.nnodes ? hints.nnodes_source : hints.hosts_source;
  return allocation;
}

// The nodes on which Slurm's starter would begin a step, else this host.
Result<Allocation> unnamed_hosts(const Environment& environment, const Hints& hints) {
  auto found = SlurmEngine().detect(environment, hints);
  if (!found) return std::unexpected(std::move(found.error()));
  if (!*found && hints.via == "--via" && !hints.nnodes) {
    return usage("--via mpirun", "no hosts are given, and this is not a Slurm allocation",
                 "give --hosts or --hostfile, or drop --via");
  }
  if (!*found) found = LocalEngine().detect(environment, hints);
  if (!found) return std::unexpected(std::move(found.error()));
  if ((*found)->stance != Stance::starter && (*found)->stance != Stance::single) {
    return started_already(hints);
  }
  if (hints.use_of((*found)->node_count)) return *std::move(*found);
  return usage(fmt::format("{} {}", hints.nnodes_source, *hints.nnodes), "the hosts are not known",
               "give --hosts or --hostfile, or start toprun in a Slurm allocation");
}

Result<Allocation> starter(const Environment& environment, const Hints& hints) {
  TRY(check_start(environment, hints));
  auto allocation = hints.hosts.empty() ? unnamed_hosts(environment, hints) : named_hosts(hints);
  if (!allocation) return allocation;
  if (allocation->nodes.empty()) allocation->nodes = {{allocation->node_name, std::nullopt}};
  allocation->engine = EngineKind::mpi;
  allocation->stance = Stance::starter;
  allocation->node_name = hints.host_name;
  allocation->my_node.reset();
  allocation->reasons = {fmt::format("mpirun starts what runs on {} ({} mpirun)",
                                     counted(allocation->node_count, "node"), hints.via)};
  return allocation;
}

}  // namespace

bool is_mpi_agent(const Environment& environment) {
  return environment.get(slurm::own_step_variable) == mpi_step;
}

Result<std::optional<Allocation>> MpiEngine::detect(const Environment& environment,
                                                    const Hints& hints) const {
  const bool own_step = is_mpi_agent(environment);
  // Options on the command line have priority over a starter from a variable or a file.
  const bool overruled = wants_single(hints) && !on_command_line(hints.via);
  if (!own_step && !hints.via.empty() && !overruled) return starter(environment, hints);
  if (!own_step && wants_single(hints)) return std::nullopt;
  auto world = TRY(mpi_world(environment));
  if (!world) return std::nullopt;
  if (hints.meeting) take(*world, *hints.meeting);
  // Several mpiruns with one process each; the user gave them a common endpoint.
  if (!own_step && world->size == 1 && hints.nnodes.value_or(1) > 1) return std::nullopt;
  if (own_step) return own_agent(environment, *world, hints);
  TRY(check_node_count(*world, hints));
  Allocation allocation = allocation_of(environment, *world, hints);
  if (world->bound && allocation.stance != Stance::in_place) {
    allocation.notes.push_back(
        fmt::format("{} has bound this agent, and so its workers, to some of the node's CPUs: add "
                    "--bind-to none",
                    world->launcher));
  }
  return allocation;
}

Result<AgentCommand> MpiEngine::agent_command(const Environment& environment,
                                              const Allocation& allocation,
                                              const AgentRequest& request) const {
  auto mpirun = TRY(find_mpirun(environment));
  std::vector<Node> nodes = allocation.nodes;
  nodes.resize(std::min(nodes.size(), static_cast<std::size_t>(allocation.node_count)));
  mpirun.as_root = request.as_root;
  mpirun.variables = request.variables;
  mpirun.argv = {request.program};
  mpirun.argv.insert(mpirun.argv.end(), request.arguments.begin(), request.arguments.end());
  AgentCommand command;
  command.secret_by_variable = true;
  command.environment = environment;
  command.environment.set(slurm::own_step_variable, mpi_step);
  command.environment.set(mpi_nodes_variable, node_list_text(nodes));
  for (const char* name : {slurm::own_step_variable, mpi_nodes_variable}) {
    mpirun.variables.emplace_back(name);
  }
  command.argv = mpirun_agents(mpirun, nodes);
  return command;
}

}  // namespace toprun::engines
