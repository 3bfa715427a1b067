#include <fmt/format.h>
#include <gtest/gtest.h>

#include "base/text/text.h"
#include "engines/slurm/slurm_testing.h"

namespace toprun::engines {
namespace {

// The command that starts the agents, as a shell would read it.
std::string command_line(const Environment& environment, const Hints& hints = nothing(),
                         const AgentRequest& request = {"/opt/toprun",
                                                        {"run", "-v", "train.py", "--x", "a b"}}) {
  const auto allocation = detect(environment, hints);
  if (!allocation) return allocation.error().line();
  const auto command = agent_command(environment, *allocation, request);
  return command ? shell_quote(command->argv) : command.error().line();
}

TEST(SlurmStep, AsksForEverythingThatTheJobHas) {
  struct Case {
    const char* what;
    Environment environment;
    Hints hints;
    const char* options;
  };
  const Environment bare = with(batch, {{"SLURM_JOB_CPUS_PER_NODE", "-"}});
  for (const auto& [what, environment, hints, options] : std::vector<Case>{
           {"--ntasks-per-node=8 --cpus-per-task=2",
            with(batch, {{"SLURM_NTASKS_PER_NODE", "8"},
                         {"SLURM_TASKS_PER_NODE", "8(x4)"},
                         {"SLURM_CPUS_PER_TASK", "2"}}),
            nothing(), "-N 4 -n 4 --ntasks-per-node=1 -c 16"},
           {"part of the nodes", batch, nnodes(2), "-N 2 -n 2 --ntasks-per-node=1 -c 16"},
           {"nodes that differ: all CPUs of each",
            with(batch, {{"SLURM_JOB_CPUS_PER_NODE", "16(x3),8"}}), nothing(),
            "-N 4 -n 4 --ntasks-per-node=1"},
           {"one thread per core", with(batch, {{"SLURM_HINT", "nomultithread"}}), nothing(),
            "-N 4 -n 4 --ntasks-per-node=1"},
           {"no count of CPUs", bare, nothing(), "-N 4 -n 4 --ntasks-per-node=1"},
           {"GPUs per node are inherited", with(bare, {{"SLURM_GPUS_PER_NODE", "h100:8"}}),
            nothing(), "-N 4 -n 4 --ntasks-per-node=1"},
           {"GPUs in all, from salloc's shell", with(bare, {{"SLURM_GPUS", "h100:32"}}), nnodes(2),
            "-N 2 -n 2 --ntasks-per-node=1 --gpus-per-node=8"},
           {"GPUs in all", with(bare, {{"SLURM_GPUS", "16"}, {"SLURM_GPUS_ON_NODE", "4"}}),
            nothing(), "-N 4 -n 4 --ntasks-per-node=1 --gpus-per-node=4"},
           {"GPUs in all, unevenly", with(bare, {{"SLURM_GPUS", "8"}, {"SLURM_GPUS_ON_NODE", "4"}}),
            nothing(), "-N 4 -n 4 --ntasks-per-node=1 --gpus-per-node=1"},
           {"GPUs by --exclusive", with(bare, {{"SLURM_GPUS_ON_NODE", "4"}}), nothing(),
            "-N 4 -n 4 --ntasks-per-node=1 --gpus-per-node=4"},
           {"fewer GPUs in all than nodes", with(bare, {{"SLURM_GPUS", "2"}}), nothing(),
            "-N 4 -n 4 --ntasks-per-node=1"},
           {"GPUs per task, from salloc's shell", with(bare, {{"SLURM_GPUS_PER_TASK", "h100:1"}}),
            nothing(), "-N 4 -n 4 --ntasks-per-node=1 --gpus-per-node=4"},
           {"GPUs per task",
            with(bare, {{"SLURM_TRES_PER_TASK", "cpu=4,gres/gpu=1"}, {"SLURM_GPUS_ON_NODE", "4"}}),
            nothing(), "-N 4 -n 4 --ntasks-per-node=1 --gpus-per-node=4"},
       }) {
    EXPECT_EQ(command_line(environment, hints),
              fmt::format("srun --overlap {} --kill-on-bad-exit=0 --wait=0 --mpi=none "
                          "--export=ALL /opt/toprun run -v train.py --x 'a b'",
                          options))
        << what;
  }
}

TEST(SlurmStep, GoesOnWithoutANodeWhereTheRunDoes) {
  const AgentRequest elastic{"/opt/toprun", {"train.py"}, true, false};
  EXPECT_TRUE(command_line(batch, nothing(), elastic)
                  .ends_with(" --mpi=none --no-kill --export=ALL /opt/toprun train.py"));
}

TEST(SlurmStep, MixesUnfinishedLinesOnlyWhereSomebodyWatches) {
  const AgentRequest watched{"/opt/toprun", {"train.py"}, false, true};
  EXPECT_TRUE(command_line(batch, nothing(), watched)
                  .ends_with(" --mpi=none --unbuffered --export=ALL /opt/toprun train.py"));
}

TEST(SlurmStep, UndoesABindingOnlyWhereOneIsInherited) {
  EXPECT_EQ(command_line(batch).find("--cpu-bind"), std::string::npos);
  EXPECT_NE(command_line(with(batch, {{"SLURM_CPU_BIND", "quiet,mask_cpu:0x1"}}))
                .find(" --mpi=none --cpu-bind=none --export=ALL "),
            std::string::npos);
}

TEST(SlurmStep, LeavesNothingStaleToSrun) {
  const Changes stale = {{"SLURM_NTASKS", "16"},
                         {"SLURM_NTASKS_PER_NODE", "4"},
                         {"SLURM_NPROCS", "16"},
                         {"SLURM_CPUS_PER_TASK", "2"},
                         {"SLURM_GPUS", "32"},
                         {"SRUN_CPUS_PER_TASK", "2"},
                         {"SLURM_TRES_PER_TASK", "cpu=2"},
                         {"SLURM_GPUS_PER_TASK", "1"},
                         {"SLURM_NTASKS_PER_GPU", "1"},
                         {"SLURM_CPU_BIND", "none"},
                         {"SLURM_CPU_BIND_TYPE", "mask_cpu:"},
                         {"SLURM_GPU_BIND", "single:1"},
                         {"SLURM_DISTRIBUTION", "cyclic"},
                         {"SLURM_HOSTFILE", "/tmp/h"},
                         {"SLURM_EXACT", "1"},
                         {"SLURM_STDINMODE", "none"},
                         {"SLURM_PTY_PORT", "4711"}};
  const Changes kept = {{"SLURM_JOB_ID", "17"},           {"SLURM_MEM_PER_NODE", "4000"},
                        {"SLURM_GPUS_PER_NODE", "4"},     {"SLURM_GRES", "gpu:4"},
                        {"SLURM_JOB_NODELIST", "n[0-3]"}, {"PATH", "/bin"},
                        {"PET_NPROC_PER_NODE", "3"},      {"SLURM_CONF", "/etc/slurm.conf"}};
  const Environment environment = with(with(batch, stale), kept);
  const auto allocation = detect(environment, nothing());
  ASSERT_TRUE(allocation) << allocation.error().line();
  const auto command = agent_command(environment, *allocation, {"/opt/toprun", {}});
  ASSERT_TRUE(command) << command.error().line();
  for (const auto& [name, value] : stale) EXPECT_FALSE(command->environment.has(name)) << name;
  for (const auto& [name, value] : kept) EXPECT_EQ(command->environment.get(name), value) << name;
  EXPECT_EQ(command->environment.get("TOPRUN_STEP"), "1");
}

TEST(SlurmStep, HandsTheRequestedTasksOn) {
  struct Case {
    const char* tasks;
    std::optional<std::string> slots;
  };
  for (const auto& [tasks, slots] :
       std::vector<Case>{{"4(x4)", "4(x4)"}, {"4,2(x2),1", "4,2(x2),1"}, {"1(x4)", std::nullopt}}) {
    const Environment environment =
        with(batch, {{"SLURM_TASKS_PER_NODE", tasks}, {"TOPRUN_SLOTS", "9(x4)"}});
    const auto allocation = detect(environment, nothing());
    ASSERT_TRUE(allocation);
    const auto command = agent_command(environment, *allocation, {"/opt/toprun", {}});
    ASSERT_TRUE(command);
    EXPECT_EQ(command->environment.get("TOPRUN_SLOTS"), slots) << tasks;
  }
}

TEST(SlurmStep, NamesTheMalformedVariable) {
  for (const auto& [variable, value] : Changes{{"SLURM_JOB_CPUS_PER_NODE", "16(x"},
                                               {"SLURM_JOB_CPUS_PER_NODE", "-16"},
                                               {"SLURM_GPUS", "h100:x"},
                                               {"SLURM_GPUS_PER_TASK", ",,"}}) {
    const std::string line = command_line(with(batch, {{variable, value}}));
    EXPECT_TRUE(line.starts_with(variable + "=\"" + value + "\": ")) << line;
  }
}

}  // namespace
}  // namespace toprun::engines
