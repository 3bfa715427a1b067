#include "engines/slurm/het.h"

#include "engines/slurm/variables.h"

namespace toprun::engines::slurm {
namespace {

constexpr std::int64_t max_components = 128;  // MAX_HET_JOB_COMPS

Result<HetComponent> component(const Environment& environment, std::int64_t index) {
  const auto name = [&](const char* variable) {
    return fmt::format("{}_HET_GROUP_{}", variable, index);
  };
  HetComponent component;
  component.nodes = TRY(hostlist(environment, name("SLURM_JOB_NODELIST")));
  const bool asked = environment.non_empty(name("SLURM_NTASKS_PER_NODE")).has_value() ||
                     environment.non_empty(name("SLURM_NTASKS")).has_value();
  if (!asked || !environment.non_empty(name("SLURM_TASKS_PER_NODE"))) return component;
  auto tasks = TRY(counts(environment, name("SLURM_TASKS_PER_NODE")));
  if (tasks.size() == component.nodes.size()) component.tasks = std::move(tasks);
  return component;
}

}  // namespace

Result<std::vector<HetComponent>> het_components(const Environment& environment) {
  std::vector<HetComponent> components;
  const auto size = TRY(number(environment, "SLURM_HET_SIZE", 1, max_components));
  if (!size || *size == 1) return components;
  for (std::int64_t i = 0; i < *size; ++i) {
    auto one = TRY(component(environment, i));
    components.push_back(std::move(one));
  }
  return components;
}

}  // namespace toprun::engines::slurm
