#include "base/text/text.h"
#include "machine/container/node.h"

namespace toprun::container {

std::vector<std::string> renumbered_gpus(const Environment& environment) {
  auto of_node = environment.non_empty("SLURM_STEP_GPUS");
  if (!of_node) of_node = environment.non_empty("SLURM_JOB_GPUS");
  const auto of_job = environment.non_empty("CUDA_VISIBLE_DEVICES");
  if (!of_node || !of_job || *of_node == *of_job) return {};
  std::vector<std::string> numbers;
  for (const std::string_view number : split(*of_node, ',')) {
    if (!parse_int(number)) return {};
    numbers.emplace_back(number);
  }
  return numbers.size() == split(*of_job, ',').size() ? numbers : std::vector<std::string>();
}

}  // namespace toprun::container
