#include <gtest/gtest.h>

#include "machine/container/runtimes.h"

namespace toprun::container {
namespace {

TEST(JobGpus, Renumbered) {
  struct Case {
    Environment environment;
    std::vector<std::string> numbers;
  };
  const Case cases[] = {
      {{}, {}},
      {{{"CUDA_VISIBLE_DEVICES", "0,1"}}, {}},
      {{{"SLURM_JOB_GPUS", "4,5"}, {"CUDA_VISIBLE_DEVICES", "0,1"}}, {"4", "5"}},
      {{{"SLURM_JOB_GPUS", "4,5"}, {"CUDA_VISIBLE_DEVICES", "4,5"}}, {}},
      {{{"SLURM_STEP_GPUS", "6"}, {"SLURM_JOB_GPUS", "6,7"}, {"CUDA_VISIBLE_DEVICES", "0"}}, {"6"}},
      // What is not of this form tells nothing.
      {{{"SLURM_JOB_GPUS", "4-5"}, {"CUDA_VISIBLE_DEVICES", "0,1"}}, {}},
      {{{"SLURM_JOB_GPUS", "4,5"}, {"CUDA_VISIBLE_DEVICES", "GPU-8932f937"}}, {}},
  };
  for (const Case& test : cases) EXPECT_EQ(renumbered_gpus(test.environment), test.numbers);
}

}  // namespace
}  // namespace toprun::container
