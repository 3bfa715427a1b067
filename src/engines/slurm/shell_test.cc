#include <gtest/gtest.h>

#include "base/text/text.h"
#include "engines/slurm/script.h"

namespace toprun::engines {
namespace {

TEST(SlurmShell, IsAStepOnTheFirstNodeThatDoesNotKnowIt) {
  JobRequest request;
  request.options = {{"--qos", "debug", {}}, {"--contiguous", std::nullopt, {}}};
  request.raw_options = {"--x11"};
  EXPECT_EQ(shell_quote(salloc_command(request, {"/bin/bash"})),
            "salloc --qos=debug --contiguous --x11 srun --nodes=1 --ntasks=1 --ntasks-per-node=1 "
            "--pty --overlap --mpi=none --preserve-env env --unset=SLURM_STEP_ID "
            "--unset=SLURM_STEPID --unset=SLURM_PTY_PORT /bin/bash");
}

TEST(SlurmShell, JoinsAJobWithoutTakingAnythingFromIt) {
  EXPECT_EQ(shell_quote(attach_command({"--jobid=12_3"}, {"/bin/zsh", "-l"})),
            "srun --nodes=1 --ntasks=1 --ntasks-per-node=1 --pty --overlap --mpi=none "
            "--jobid=12_3 /bin/zsh -l");
}

}  // namespace
}  // namespace toprun::engines
