#include "engines/mpi/slots.h"

#include "base/text/text.h"
#include "engines/slurm/variables.h"

namespace toprun::engines {
namespace {

// The number of GPUs that Slurm gave to this step on this node; 0: unknown.
Result<GpuCount> given_gpus(const Environment& environment) {
  if (!environment.has("SLURM_JOB_ID")) return GpuCount{};
  GpuCount given;
  for (const char* variable : {"SLURM_GPUS_ON_NODE", "SLURM_GPUS_PER_NODE"}) {
    const auto count = TRY(slurm::gpus(environment, variable));
    if (!count) continue;
    given = {*count, variable};
    break;
  }
  const auto named = named_gpus(environment);
  if (named && named->count < given.count) return *named;
  return given;
}

// The number of GPUs that a process here can use: those from the engine, else the visible ones.
Result<GpuCount> usable_gpus(const Environment& environment, const SlotsRequest& request) {
  auto given = given_gpus(environment);
  if (!given || given->count > 0 || !given->source.empty()) return given;
  return request.visible;
}

Result<Slots> asked_for(const Environment& environment, const SlotsRequest& request) {
  const std::string& wish = request.nproc_per_node;
  const std::string what = fmt::format("{} {}", request.source, wish);
  if (wish == "cpu") return Slots{request.cpus, what + ", CPUs this process may use"};
  if (wish == "gpu" || wish == "auto") {
    const auto gpus = TRY(usable_gpus(environment, request));
    if (gpus.count > 0) return Slots{gpus.count, fmt::format("{}, {}", what, gpus.source)};
    if (wish == "auto") return Slots{request.cpus, what + ", no GPU: CPUs this process may use"};
    return usage(what, fmt::format("no GPU is visible on this host ({})", gpus.source),
                 "give a number or auto");
  }
  const auto count = parse_int(wish);
  if (count && *count >= 1 && *count <= max_slots) {
    return Slots{static_cast<int>(*count), request.source};
  }
  return usage(what, "this is not a number of processes",
               fmt::format("give a number from 1 to {}, cpu, gpu or auto", max_slots));
}

Error ranks_are_started(const Allocation& allocation, const SlotsRequest& request, int tasks) {
  const bool by_srun = allocation.engine == EngineKind::slurm;
  const bool by_mpirun = allocation.engine == EngineKind::mpi;
  const std::string count = counted(tasks, by_srun ? "task" : "process");
  const std::string_view one_per_node =
      by_srun     ? "start one task per node (srun --ntasks-per-node=1)"
      : by_mpirun ? "start one process per node (mpirun --map-by ppr:1:node --bind-to none; with "
                    "MPICH or Intel MPI: mpiexec -ppn 1)"
                  : "start one process per node, without --ranks-in-place";
  return usage(fmt::format("{} {}", request.source, request.nproc_per_node),
               fmt::format("{} started {} on this node, and each becomes one rank",
                           by_srun     ? "srun"
                           : by_mpirun ? "mpirun"
                                       : "another program",
                           count),
               fmt::format("drop {}, or {}", request.source, one_per_node))
      .error();
}

Result<Slots> in_place_slots(const Allocation& allocation, const SlotsRequest& request) {
  const int tasks = allocation.tasks_on_my_node.value_or(1);
  const auto requested = parse_int(request.nproc_per_node);
  if (requested && *requested != tasks && *requested != 1) {
    return std::unexpected(ranks_are_started(allocation, request, tasks));
  }
  return Slots{tasks, "tasks started on this node"};
}

}  // namespace

Result<Slots> slots_here(const Environment& environment, const Allocation& allocation,
                         const SlotsRequest& request) {
  if (allocation.stance == Stance::in_place) return in_place_slots(allocation, request);
  if (!request.nproc_per_node.empty()) return asked_for(environment, request);
  if (request.called_torchrun) return Slots{1, "torchrun's default"};
  const auto given = TRY(given_gpus(environment));
  if (given.count > 0) return Slots{given.count, given.source};
  const auto here = static_cast<std::size_t>(allocation.my_node.value_or(0));
  if (here < allocation.nodes.size() && allocation.nodes[here].slots) {
    const bool is_listed = allocation.engine == EngineKind::ssh ||
                           (allocation.engine == EngineKind::mpi && request.lists_hosts);
    return Slots{*allocation.nodes[here].slots,
                 is_listed ? "the list of hosts" : "tasks per node of the job"};
  }
  if (request.visible.count > 0) return Slots{request.visible.count, request.visible.source};
  return Slots{1, "no GPU and no other request"};
}

}  // namespace toprun::engines
