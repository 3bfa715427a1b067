#include "scheduler/mpi.h"

#include "scheduler/mpi_world.h"

namespace toprun::scheduler {
namespace {

constexpr std::uint32_t first_port = 61'000;
constexpr std::uint32_t port_count = 4'536;  // up to 65535

// FNV-1a: neighbouring jobs get different ports.
int port_of(std::string_view job) {
  std::uint32_t hash = 2'166'136'261u;
  for (const char c : job) hash = (hash ^ static_cast<unsigned char>(c)) * 16'777'619u;
  return static_cast<int>(first_port + hash % port_count);
}

std::string counted(int count, std::string_view what) {
  return fmt::format("{} {}{}", count, what, count == 1 ? "" : (what.ends_with("s") ? "es" : "s"));
}

// Where nothing counts the nodes, the others are taken to be like this one.
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
  allocation.engine = "mpi";
  allocation.stance = stance_of(world, hints);
  allocation.node_count = hints.nnodes && !world.nodes ? *hints.nnodes : node_count(world);
  allocation.node_count_source = hints.nnodes ? hints.nnodes_source : world.launcher;
  allocation.node_name = hints.host_name;
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

}  // namespace

Result<std::optional<Allocation>> MpiEngine::detect(const Environment& environment,
                                                    const Hints& hints) const {
  if (wants_single(hints)) return std::nullopt;
  const auto world = mpi_world(environment);
  if (!world) return std::unexpected(world.error());
  if (!*world) return std::nullopt;
  if (const auto checked = check_node_count(**world, hints); !checked) {
    return std::unexpected(checked.error());
  }
  Allocation allocation = allocation_of(environment, **world, hints);
  if ((*world)->bound && allocation.stance != Stance::in_place) {
    allocation.notes.push_back(
        fmt::format("{} has bound this agent, and so its workers, to some of the node's CPUs: add "
                    "--bind-to none",
                    (*world)->launcher));
  }
  return allocation;
}

}  // namespace toprun::scheduler
