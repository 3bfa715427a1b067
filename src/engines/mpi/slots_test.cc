#include "engines/mpi/slots.h"

#include <gtest/gtest.h>

namespace toprun::engines {
namespace {

constexpr int cpus = 6;

SlotsRequest asked(std::string wish, int visible = 0, std::string source = "--nproc-per-node") {
  SlotsRequest request;
  request.nproc_per_node = std::move(wish);
  request.source = std::move(source);
  request.cpus = cpus;
  request.visible = {visible, visible > 0 ? "/proc/driver/nvidia/gpus" : "no GPU driver"};
  return request;
}

SlotsRequest no_request(int visible = 0) {
  return asked("", visible, "");
}

SlotsRequest torchrun(SlotsRequest request) {
  request.called_torchrun = true;
  return request;
}

Allocation agent(std::optional<int> tasks_of_job = std::nullopt) {
  Allocation allocation;
  allocation.engine = EngineKind::slurm;
  allocation.stance = Stance::agent;
  allocation.nodes = {{"n0", 77}, {"n1", tasks_of_job}};
  allocation.node_count = 2;
  allocation.my_node = 1;
  return allocation;
}

Allocation in_place(int tasks, EngineKind engine = EngineKind::slurm) {
  Allocation allocation = agent();
  allocation.engine = engine;
  allocation.stance = Stance::in_place;
  allocation.tasks_on_my_node = tasks;
  return allocation;
}

Environment slurm(Environment variables) {
  variables.set("SLURM_JOB_ID", "17");
  return variables;
}

TEST(Slots, InOrderOfPrecedence) {
  struct Case {
    const char* what;
    Environment environment;
    Allocation allocation;
    SlotsRequest request;
    const char* expected;
  };
  const Environment eight = slurm({{"SLURM_GPUS_ON_NODE", "8"}});
  for (const auto& [what, environment, allocation, request, expected] : std::vector<Case>{
           {"the flag wins", eight, agent(4), asked("3", 2), "3 --nproc-per-node"},
           {"then the variable", eight, agent(4), asked("3", 2, "PET_NPROC_PER_NODE"),
            "3 PET_NPROC_PER_NODE"},
           {"then GPUs of the step", eight, agent(4), no_request(2), "8 SLURM_GPUS_ON_NODE"},
           {"with a type", slurm({{"SLURM_GPUS_ON_NODE", "h100:8"}}), agent(4), no_request(2),
            "8 SLURM_GPUS_ON_NODE"},
           {"as requested", slurm({{"SLURM_GPUS_PER_NODE", "h100:4"}}), agent(16), no_request(2),
            "4 SLURM_GPUS_PER_NODE"},
           {"two types", slurm({{"SLURM_GPUS_PER_NODE", "h100:4,a100:2(S:0-1)"}}), agent(),
            no_request(), "6 SLURM_GPUS_PER_NODE"},
           {"this node before the request",
            slurm({{"SLURM_GPUS_ON_NODE", "2"}, {"SLURM_GPUS_PER_NODE", "h100:8"}}), agent(),
            no_request(), "2 SLURM_GPUS_ON_NODE"},
           {"hidden by the user",
            slurm({{"SLURM_GPUS_ON_NODE", "8"}, {"CUDA_VISIBLE_DEVICES", "0,1"}}), agent(4),
            no_request(2), "2 CUDA_VISIBLE_DEVICES"},
           {"all hidden by the user",
            slurm({{"SLURM_GPUS_ON_NODE", "8"}, {"CUDA_VISIBLE_DEVICES", ""}}), agent(4),
            no_request(), "4 tasks per node of the job"},
           {"then tasks per node", slurm({}), agent(4), no_request(2),
            "4 tasks per node of the job"},
           {"then visible GPUs", slurm({}), agent(), no_request(2), "2 /proc/driver/nvidia/gpus"},
           {"else one", slurm({}), agent(), no_request(), "1 no GPU and no other request"},
           {"a variable of Slurm's outside Slurm",
            {{"SLURM_GPUS_ON_NODE", "8"}},
            {},
            no_request(),
            "1 no GPU and no other request"},
           {"a laptop", {}, {}, no_request(1), "1 /proc/driver/nvidia/gpus"},
           {"called torchrun", eight, agent(4), torchrun(no_request(8)), "1 torchrun's default"},
           {"called torchrun, given", eight, agent(4), torchrun(asked("4", 8)),
            "4 --nproc-per-node"},
           {"gpu", slurm({}), agent(4), asked("gpu", 2),
            "2 --nproc-per-node gpu, /proc/driver/nvidia/gpus"},
           {"gpu of the step", eight, agent(4), asked("gpu", 2),
            "8 --nproc-per-node gpu, SLURM_GPUS_ON_NODE"},
           {"auto with GPUs",
            {},
            {},
            asked("auto", 2),
            "2 --nproc-per-node auto, /proc/driver/nvidia/gpus"},
           {"auto without",
            {},
            {},
            asked("auto"),
            "6 --nproc-per-node auto, no GPU: CPUs this process may use"},
           {"cpu", eight, agent(4), asked("cpu", 2),
            "6 --nproc-per-node cpu, CPUs this process may use"},
           {"in place", eight, in_place(4), no_request(8), "4 tasks started on this node"},
           {"in place, said again", eight, in_place(4), asked("4"), "4 tasks started on this node"},
           {"in place, one each", eight, in_place(4), asked("1"), "4 tasks started on this node"},
           {"in place, called torchrun", eight, in_place(4), torchrun(no_request()),
            "4 tasks started on this node"},
       }) {
    const auto slots = slots_here(environment, allocation, request);
    ASSERT_TRUE(slots) << what << ": " << slots.error().line();
    EXPECT_EQ(fmt::format("{} {}", slots->count, slots->source), expected) << what;
  }
}

TEST(Slots, RefusesWithWhatToDo) {
  struct Case {
    const char* what;
    Environment environment;
    Allocation allocation;
    SlotsRequest request;
    const char* expected;
  };
  const std::string no_number =
      ": this is not a number of processes; give a number from 1 to 65536, cpu, gpu or auto";
  for (const auto& [what, environment, allocation, request, expected] : std::vector<Case>{
           {"gpu without GPUs",
            {},
            {},
            asked("gpu"),
            "--nproc-per-node gpu: no GPU is visible on this host (no GPU driver); give a number "
            "or auto"},
           {"gpu with all GPUs hidden",
            slurm({{"SLURM_GPUS_ON_NODE", "8"}, {"CUDA_VISIBLE_DEVICES", "-1"}}), agent(),
            asked("gpu"),
            "--nproc-per-node gpu: no GPU is visible on this host (CUDA_VISIBLE_DEVICES); give a "
            "number or auto"},
           {"ranks in place",
            {},
            in_place(8),
            asked("4"),
            "--nproc-per-node 4: srun started 8 tasks on this node, and each becomes one rank; "
            "drop --nproc-per-node, or start one task per node (srun --ntasks-per-node=1)"},
           {"ranks in place of mpirun",
            {},
            in_place(8, EngineKind::mpi),
            asked("4"),
            "--nproc-per-node 4: mpirun started 8 processes on this node, and each becomes one "
            "rank; drop --nproc-per-node, or start one process per node (mpirun --map-by "
            "ppr:1:node --bind-to none; with MPICH or Intel MPI: mpiexec -ppn 1)"},
           {"ranks in place of another program",
            {},
            in_place(8, EngineKind::manual),
            asked("4"),
            "--nproc-per-node 4: another program started 8 processes on this node, and each "
            "becomes one rank; drop --nproc-per-node, or start one process per node, without "
            "--ranks-in-place"},
           {"malformed", slurm({{"SLURM_GPUS_ON_NODE", "h100:x"}}), agent(), no_request(),
            "SLURM_GPUS_ON_NODE=\"h100:x\": this is not a number of GPUs such as 8 or h100:8; only "
            "Slurm "
            "may set this variable"},
           {"malformed", slurm({{"SLURM_GPUS_PER_NODE", "8,"}}), agent(), no_request(),
            "SLURM_GPUS_PER_NODE=\"8,\": this is not a number of GPUs such as 8 or h100:8; only "
            "Slurm may "
            "set this variable"},
       }) {
    const auto slots = slots_here(environment, allocation, request);
    ASSERT_FALSE(slots) << what;
    EXPECT_EQ(slots.error().line(), expected) << what;
  }
  for (const char* bad : {"0", "-1", "x", "65537", "1.5", "99999999999999999999"}) {
    const auto slots = slots_here({}, {}, asked(bad));
    ASSERT_FALSE(slots) << bad;
    EXPECT_EQ(slots.error().line(), fmt::format("--nproc-per-node {}{}", bad, no_number));
    EXPECT_EQ(slots.error()->exit_code, exit_usage);
  }
}

}  // namespace
}  // namespace toprun::engines
