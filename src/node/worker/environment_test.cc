#include "node/worker/environment.h"

#include <gtest/gtest.h>

namespace toprun::worker {
namespace {

WorkerFacts facts() {
  WorkerFacts facts;
  facts.rank = 5;
  facts.local_rank = 1;
  facts.local_world_size = 4;
  facts.world_size = 8;
  facts.group_rank = 1;
  facts.group_world_size = 2;
  facts.role = "trainer";
  facts.role_rank = 5;
  facts.role_world_size = 8;
  facts.master_addr = "10.0.0.1";
  facts.master_port = 29500;
  facts.restart_count = 1;
  facts.max_restarts = 3;
  facts.run_id = "job1";
  facts.error_file = "/l/1/error.json";
  facts.node_name = "n2";
  facts.location = "/a/b/n2";
  facts.order = "name";
  facts.attempt = 2;
  return facts;
}

TEST(Environment, FollowsTheContract) {
  const Environment inherited = {
      {"HOME", "/h"},         {"RANK", "99"},          {"MASTER_ADDR", "wrong"},
      {"TOPRUN_SECRET", "s"}, {"TOPRUN_ORDER", "n"},   {"TOPRUN_SECRET_FILE", "/s"},
      {"PET_NNODES", "2"},    {"PET_SCANNER", "mine"}, {"TORCHELASTIC_RESTART_COUNT", "7"},
  };
  const std::map<std::string, std::string, std::less<>> expected = {
      {"HOME", "/h"},
      {"PET_SCANNER", "mine"},
      {"RANK", "5"},
      {"LOCAL_RANK", "1"},
      {"LOCAL_WORLD_SIZE", "4"},
      {"WORLD_SIZE", "8"},
      {"GROUP_RANK", "1"},
      {"GROUP_WORLD_SIZE", "2"},
      {"ROLE_NAME", "trainer"},
      {"ROLE_RANK", "5"},
      {"ROLE_WORLD_SIZE", "8"},
      {"MASTER_ADDR", "10.0.0.1"},
      {"MASTER_PORT", "29500"},
      {"TORCHELASTIC_RESTART_COUNT", "1"},
      {"TORCHELASTIC_MAX_RESTARTS", "3"},
      {"TORCHELASTIC_RUN_ID", "job1"},
      {"TORCHELASTIC_USE_AGENT_STORE", "True"},
      {"TORCHELASTIC_ERROR_FILE", "/l/1/error.json"},
      {"TORCH_NCCL_ASYNC_ERROR_HANDLING", "1"},
      {"OMP_NUM_THREADS", "1"},
      {"TOPRUN_NODE_NAME", "n2"},
      {"TOPRUN_LOCATION", "/a/b/n2"},
      {"TOPRUN_RANK_ORDER", "name"},
      {"TOPRUN_ATTEMPT", "2"},
  };
  EXPECT_EQ(worker_environment(inherited, facts()).variables(), expected);
}

TEST(Environment, LeavesToTheUserWhatTheUserSet) {
  WorkerFacts with_interface = facts();
  with_interface.network = {{"GLOO_SOCKET_IFNAME", "eth1"}};
  const Environment inherited = {{"OMP_NUM_THREADS", "6"},
                                 {"TORCH_NCCL_ASYNC_ERROR_HANDLING", "3"}};
  const Environment kept = worker_environment(inherited, with_interface);
  EXPECT_EQ(kept.get("OMP_NUM_THREADS"), "6");
  EXPECT_EQ(kept.get("TORCH_NCCL_ASYNC_ERROR_HANDLING"), "3");
  EXPECT_EQ(kept.get("GLOO_SOCKET_IFNAME"), "eth1");
  EXPECT_FALSE(worker_environment({}, facts()).has("GLOO_SOCKET_IFNAME"));
}

TEST(Environment, VirtualLocalRank) {
  WorkerFacts with_device = facts();
  with_device.only_device = "GPU-7";
  const Environment environment =
      worker_environment({{"CUDA_VISIBLE_DEVICES", "3,GPU-7"}}, with_device);
  EXPECT_EQ(environment.get("LOCAL_RANK"), "0");
  EXPECT_EQ(environment.get("RANK"), "5");
  EXPECT_EQ(environment.get("CUDA_VISIBLE_DEVICES"), "GPU-7");
  EXPECT_EQ(
      worker_environment({{"CUDA_VISIBLE_DEVICES", "3,4"}}, facts()).get("CUDA_VISIBLE_DEVICES"),
      "3,4");
}

TEST(Environment, TheOnlyDevice) {
  EXPECT_EQ(only_device({}, 3), "3");
  EXPECT_EQ(only_device({{"CUDA_VISIBLE_DEVICES", "4, GPU-7 ,6"}}, 1), "GPU-7");
  EXPECT_EQ(only_device({{"CUDA_VISIBLE_DEVICES", ""}}, 1), "");
  EXPECT_EQ(only_device({{"CUDA_VISIBLE_DEVICES", "4,5"}}, 2).error().line(),
            "--virtual-local-rank: no device for local rank 2: CUDA_VISIBLE_DEVICES=4,5 has 2; use "
            "at most --nproc-per-node 2");
}

TEST(Environment, TellsWhichSignalsAreHandled) {
  WorkerFacts with_signals = facts();
  with_signals.signals_to_handle = "SIGTERM,SIGUSR1";
  EXPECT_EQ(worker_environment({{"TORCHELASTIC_SIGNALS_TO_HANDLE", "SIGHUP"}}, with_signals)
                .get("TORCHELASTIC_SIGNALS_TO_HANDLE"),
            "SIGTERM,SIGUSR1");
}

TEST(Environment, OneWorkerKeepsAllThreads) {
  EXPECT_FALSE(sets_omp_num_threads({}, 1));
  EXPECT_TRUE(sets_omp_num_threads({}, 2));
  EXPECT_FALSE(sets_omp_num_threads({{"OMP_NUM_THREADS", ""}}, 2));
  WorkerFacts alone = facts();
  alone.local_world_size = 1;
  alone.location.clear();
  EXPECT_FALSE(worker_environment({}, alone).has("OMP_NUM_THREADS"));
  EXPECT_FALSE(worker_environment({}, alone).has("TOPRUN_LOCATION"));
}

TEST(Environment, ReplacesTheMacroInArguments) {
  const std::vector<std::string> given = {"${local_rank}", "--r=${local_rank},${local_rank}",
                                          "$local_rank",   "$$",
                                          "${local_rank",  "${rank}"};
  const std::vector<std::string> expected = {"3",  "--r=3,3",      "$local_rank",
                                             "$$", "${local_rank", "${rank}"};
  EXPECT_EQ(with_local_rank(given, 3), expected);
}

}  // namespace
}  // namespace toprun::worker
