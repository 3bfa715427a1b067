#include "node/worker/binding.h"

#include <fmt/format.h>

#include "base/os/console.h"
#include "engines/gpus.h"
#include "node/agent/workplan.h"

namespace toprun::agent {
namespace {

// A rank in place may be given its own GPU only, which then has index 0 whatever its local rank.
bool has_a_gpu_of_its_own(const plan::Job& job, const worker::Machine& machine) {
  return job.place.stance == engines::Stance::in_place && machine.gpu_nodes.size() == 1;
}

}  // namespace

Result<std::vector<std::vector<int>>> bind_workers(const plan::Job& job,
                                                   const model::Assignment& assignment) {
  std::vector<std::vector<int>> cpus;
  if (!job.options.numa_binding) return cpus;
  const auto gpus = TRY(engines::gpu_addresses(job.environment));
  const auto machine = TRY(worker::read_machine(job.inherited.cpus(), gpus));
  if (gpus.empty() && assignment.attempt == 0 && job.place.local_rank.value_or(0) == 0) {
    say(fmt::format(
        "--numa-binding: {} has no GPU, so its ranks are spread evenly over its NUMA nodes",
        job.place.node_name));
  }
  for (int i = 0; i < assignment.nproc; ++i) {
    const int local_rank = job.place.local_rank.value_or(0) + i;
    const int seat = has_a_gpu_of_its_own(job, machine) ? 0 : local_rank;
    auto binding =
        TRY(worker::bind(machine, *job.options.numa_binding, seat, assignment.local_world_size));
    if (job.options.verbose > 0) {
      say(fmt::format("rank {} is bound to CPUs {} (NUMA node {}{})", assignment.first_rank + i,
                      worker::cpu_list(binding.cpus), binding.node,
                      gpus.empty() ? "" : ", GPU " + gpus[static_cast<std::size_t>(seat)]));
    }
    cpus.push_back(std::move(binding.cpus));
  }
  return cpus;
}

}  // namespace toprun::agent
