#include "engines/kubernetes/pod.h"

#include <gtest/gtest.h>

#include "engines/kubernetes/kubernetes_testing.h"
#include "engines/kubernetes/object_name.h"

namespace toprun::engines::kubernetes {
namespace {

std::string text(int number) {
  return fmt::format("{}", number);
}

std::string role_name(int i) {
  return i == 0 ? "job-master-0" : fmt::format("job-worker-{}", i - 1);
}

std::string listed(const std::string& pattern, int count, int from = 0) {
  std::vector<std::string> names;
  for (int i = from; i < count; ++i) {
    names.push_back(fmt::format(fmt::runtime(pattern), i));
  }
  return join(names, ",");
}

PodInTest with(PodInTest pod, std::initializer_list<std::pair<const char*, std::string>> more) {
  for (const auto& [name, value] : more) pod.environment.set(name, value);
  return pod;
}

// training-operator v1.6 pkg/controller.v1/pytorch/{envvar,master}.go: WORLD_SIZE is the number of
// pods, RANK the pod's.
PodInTest pytorchjob_1_6(int n, int i) {
  return {role_name(i),
          {{"PYTHONUNBUFFERED", "0"},
           {"MASTER_PORT", "23456"},
           {"MASTER_ADDR", "job-master-0"},
           {"WORLD_SIZE", text(n)},
           {"RANK", text(i)}}};
}

// pytorch-operator v0.7 (before training-operator): the master has localhost for itself.
PodInTest pytorchjob_0_7(int n, int i) {
  return with(pytorchjob_1_6(n, i), {{"MASTER_ADDR", i == 0 ? "localhost" : "job-master-0"}});
}

// … with hostNetwork: true the host name is the machine's.
PodInTest pytorchjob_on_host_network(int n, int i) {
  PodInTest pod = pytorchjob_1_6(n, i);
  pod.host = fmt::format("gpu-{}", i + 17);
  return pod;
}

// training-operator v1.7 to v1.9, same files: WORLD_SIZE is pods × nprocPerNode where that is a
// number, else pods; PET_ variables beside.
PodInTest pytorchjob_1_7(int n, int i) {
  return with(pytorchjob_1_6(n, i), {{"WORLD_SIZE", text(8 * n)},
                                     {"PET_MASTER_PORT", "23456"},
                                     {"PET_MASTER_ADDR", "job-master-0"},
                                     {"PET_NPROC_PER_NODE", "8"},
                                     {"PET_NODE_RANK", text(i)},
                                     {"PET_NNODES", text(n)}});
}
PodInTest pytorchjob_1_7_auto(int n, int i) {
  return with(pytorchjob_1_7(n, i), {{"WORLD_SIZE", text(n)}, {"PET_NPROC_PER_NODE", "auto"}});
}

// … with an elasticPolicy (elastic.go) and no Master: neither RANK nor WORLD_SIZE.
PodInTest pytorchjob_elastic(int n, int i) {
  return {fmt::format("job-worker-{}", i),
          {{"PYTHONUNBUFFERED", "0"},
           {"PET_RDZV_ENDPOINT", "job-worker-0:23456"},
           {"PET_RDZV_BACKEND", "c10d"},
           {"PET_RDZV_ID", "job"},
           {"PET_RDZV_CONF", "timeout=900"},
           {"PET_NNODES", fmt::format("1:{}", n)},
           {"PET_MAX_RESTARTS", "3"},
           {"PET_STANDALONE", ""}}};
}

// Run:AI 2.13 and later: docs' best-practices/env-variables, and the operator's of its fork of
// PyTorchJob, without PET_NODE_RANK.
PodInTest runai(int n, int i) {
  return with(pytorchjob_1_6(n, i), {{"JOB_NAME", "job"},
                                     {"JOB_UUID", "5f0c"},
                                     {"POD_UUID", "77" + text(i)},
                                     {"POD_INDEX", text(i)},
                                     {"RUNAI_NUM_OF_GPUS", "8"}});
}
PodInTest runai_with_pet(int n, int i) {
  return with(runai(n, i), {{"PET_NNODES", text(n)}, {"WORLD_SIZE", text(8 * n)}});
}

// trainer v2.0 pkg/runtime/framework/plugins/torch/torch.go; the index is the indexed Job's, the
// name a JobSet's.
PodInTest trainjob(int n, int i) {
  return {fmt::format("job-node-0-{}", i),
          {{"PET_NNODES", text(n)},
           {"PET_NPROC_PER_NODE", "auto"},
           {"PET_NODE_RANK", text(i)},
           {"PET_MASTER_ADDR", "job-node-0-0.job"},
           {"PET_MASTER_PORT", "29500"},
           {"JOB_COMPLETION_INDEX", text(i)}},
          "job.default.svc.cluster.local"};
}

// Volcano 1.8 pkg/controllers/job/plugins: distributed-framework/pytorch, svc and env.
PodInTest volcano_pytorch(int n, int i) {
  return with({role_name(i), {}, "job.default.svc.cluster.local"},
              {{"MASTER_ADDR", "job-master-0.job"},
               {"MASTER_PORT", "23456"},
               {"WORLD_SIZE", text(n)},
               {"RANK", text(i)},
               {"VC_MASTER_HOSTS", "job-master-0.job"},
               {"VC_MASTER_NUM", "1"},
               {"VC_WORKER_HOSTS", listed("job-worker-{}.job", n - 1)},
               {"VC_WORKER_NUM", text(n - 1)},
               {"VC_TASK_INDEX", text(i == 0 ? 0 : i - 1)},
               {"VK_TASK_INDEX", text(i == 0 ? 0 : i - 1)}});
}
// … svc and env alone, with one task.
PodInTest volcano_one_task(int n, int i) {
  return {fmt::format("job-train-{}", i),
          {{"VC_TRAIN_HOSTS", listed("job-train-{}.job", n)},
           {"VC_TRAIN_NUM", text(n)},
           {"VC_TASK_INDEX", text(i)},
           {"VK_TASK_INDEX", text(i)}},
          "job.default.svc.cluster.local"};
}
// … svc alone, with a master and workers.
PodInTest volcano_roles(int n, int i) {
  return {role_name(i),
          {{"VC_MASTER_HOSTS", "job-master-0.job"},
           {"VC_WORKER_HOSTS", listed("job-worker-{}.job", n - 1)}},
          "job.default.svc.cluster.local"};
}

// LeaderWorkerSet v0.6 pkg/utils/pod: the group's leader is <set>-<group>.
PodInTest leader_worker_set(int n, int i) {
  return {i == 0 ? "set-1" : fmt::format("set-1-{}", i),
          {{"LWS_LEADER_ADDRESS", "set-1.set.default"},
           {"LWS_GROUP_SIZE", text(n)},
           {"LWS_WORKER_INDEX", text(i)}},
          "set.default.svc.cluster.local"};
}
PodInTest leader_worker_set_0_5(int n, int i) {
  PodInTest pod = leader_worker_set(n, i);
  pod.environment.unset("LWS_WORKER_INDEX");
  return pod;
}

// JobSet v0.8 and Kubernetes' Job of completionMode Indexed (batch/v1) tell the index; how many
// there are is the manifest's to say, as PET_NNODES here.
PodInTest jobset(int n, int i) {
  return {fmt::format("set-workers-0-{}", i),
          {{"JOB_COMPLETION_INDEX", text(i)}, {"PET_NNODES", text(n)}},
          "set.default.svc.cluster.local"};
}
PodInTest indexed_job(int n, int i) {
  return {fmt::format("train-{}", i),
          {{"JOB_COMPLETION_INDEX", text(i)}, {"PET_NNODES", text(n)}},
          "peers.default.svc.cluster.local"};
}
// JobSet's example of PyTorch (examples/pytorch) sets these itself.
PodInTest jobset_example(int n, int i) {
  return with(jobset(n, i),
              {{"MASTER_ADDR", "set-workers-0-0.set"}, {"MASTER_PORT", "3389"}, {"RANK", text(i)}});
}
PodInTest stateful_set(int n, int i) {
  return {fmt::format("web-{}", i), {{"PET_NNODES", text(n)}}, "peers.default.svc.cluster.local"};
}

TEST(Pods, EveryDocumentedEnvironmentGivesTheRightPlace) {
  const struct {
    const char* what;
    PodInTest (*pod)(int count, int index);
    const char* root;
    std::optional<int> port;
    bool names;  // of all pods
  } rows[] = {
      {"PyTorchJob 1.6", pytorchjob_1_6, "job-master-0", 23456, true},
      {"PyTorchJob, host network", pytorchjob_on_host_network, "job-master-0", 23456, false},
      {"PyTorchJob 1.7, a number per node", pytorchjob_1_7, "job-master-0", 23456, true},
      {"PyTorchJob 1.7, auto", pytorchjob_1_7_auto, "job-master-0", 23456, true},
      {"PyTorchJob, elastic", pytorchjob_elastic, "job-worker-0", {}, false},
      {"Run:AI", runai, "job-master-0", 23456, true},
      {"Run:AI with PET_NNODES", runai_with_pet, "job-master-0", 23456, true},
      {"TrainJob", trainjob, "job-node-0-0.job", {}, true},
      {"Volcano, pytorch", volcano_pytorch, "job-master-0.job", 23456, true},
      {"Volcano, one task", volcano_one_task, "job-train-0.job", {}, true},
      {"Volcano, master and workers", volcano_roles, "job-master-0.job", {}, true},
      {"LeaderWorkerSet 0.6", leader_worker_set, "set-1.set.default", {}, false},
      {"LeaderWorkerSet 0.5", leader_worker_set_0_5, "set-1.set.default", {}, false},
      {"JobSet", jobset, "set-workers-0-0.set", {}, true},
      {"JobSet's example", jobset_example, "set-workers-0-0.set", 3389, true},
      {"Indexed Job", indexed_job, "train-0.peers", {}, true},
      {"StatefulSet", stateful_set, "web-0.peers", {}, true},
  };
  for (const auto& row : rows) {
    for (const int count : {2, 4}) {
      for (int i = 0; i < count; ++i) {
        SCOPED_TRACE(fmt::format("{}: pod {} of {}", row.what, i, count));
        const PodInTest pod = row.pod(count, i);
        const auto place = pod.place();
        ASSERT_TRUE(place) << place.error().line();
        EXPECT_EQ(place->engine, EngineKind::kubernetes);
        EXPECT_EQ(place->stance, Stance::agent);
        EXPECT_EQ(place->node_count, count);
        EXPECT_EQ(place->my_node, i);
        const std::string reported = hints_of(pod.environment).endpoint_host;
        EXPECT_EQ(reported.empty() ? place->root_address : reported, row.root);
        EXPECT_EQ(place->root_node.has_value(), reported.empty());
        EXPECT_EQ(place->port, row.port);
        EXPECT_EQ(place->nodes.size(), row.names ? static_cast<std::size_t>(count) : 0u);
        EXPECT_EQ(place->job, row.pod(count, 0).place()->job);
        EXPECT_TRUE(place->notes.empty()) << place->notes[0];
      }
    }
  }
}

TEST(Pods, TheMasterOfOldOperatorsCallsItselfLocalhost) {
  const auto master = pytorchjob_0_7(2, 0).place();
  const auto worker = pytorchjob_0_7(2, 1).place();
  ASSERT_TRUE(master && worker);
  EXPECT_EQ(master->root_address, "localhost");
  EXPECT_EQ(worker->root_address, "job-master-0");
  EXPECT_EQ(master->job, worker->job);
}

TEST(Pods, OnePodIsOneNode) {
  for (const auto& pod :
       {pytorchjob_1_6(1, 0), pytorchjob_1_7(1, 0), trainjob(1, 0), runai(1, 0), indexed_job(1, 0),
        PodInTest{"job-0-0", {{"JOB_UUID", "5f"}, {"POD_UUID", "7"}, {"POD_INDEX", "0"}}}}) {
    const auto place = pod.place();
    ASSERT_TRUE(place) << pod.host << ": " << place.error().line();
    EXPECT_EQ(place->engine, EngineKind::kubernetes) << pod.host;
    EXPECT_EQ(place->stance, Stance::single) << pod.host;
    EXPECT_EQ(place->my_node, 0) << pod.host;
  }
}

// Workers meet at worker 0, and PET_NNODES counts them alone: the owner of that name is the root.
TEST(Pods, AnElasticJobWithAMasterLeavesTheRootToItsEndpoint) {
  const PodInTest worker = with(pytorchjob_1_7(3, 1), {{"PET_RDZV_ENDPOINT", "job-worker-0:23456"},
                                                       {"PET_RDZV_BACKEND", "c10d"},
                                                       {"PET_NNODES", "1:2"}});
  const auto place = worker.place();
  ASSERT_TRUE(place) << place.error().line();
  EXPECT_EQ(place->node_count, 2);
  EXPECT_EQ(place->my_node, std::nullopt);
  EXPECT_EQ(place->root_node, std::nullopt);
}

TEST(Pods, WhatIsNoPodOfAKnownKind) {
  const PodInTest plain = pytorchjob_1_6(2, 1);
  Hints nothing;
  nothing.host_name = plain.host;
  EXPECT_FALSE(detect(plain.environment, nothing)) << "RANK and WORLD_SIZE outside Kubernetes";
  const auto trains_alone = [](const PodInTest& pod) {
    const auto place = pod.place();
    return place && place->engine == EngineKind::local && place->stance == Stance::single;
  };
  EXPECT_TRUE(trains_alone({"app-7c9f8d6b5-x2x4z", {}})) << "a Deployment's";
  EXPECT_TRUE(trains_alone({"gpu-7", {}, ""})) << "a number without a service";
  EXPECT_FALSE(with(plain, {{"TORCHELASTIC_RUN_ID", "none"}}).place()) << "inside a torchrun";
  EXPECT_FALSE((PodInTest{"pod", {{"RANK", "1"}, {"WORLD_SIZE", "2"}}}.place()))
      << "whose RANK it is, nothing tells";
}

// pyxis and enroot's hook 50-slurm-pytorch.sh set these in a Slurm task's container.
TEST(Pods, TheHooksOfSlurmsContainersAreNoPod) {
  const Environment hooked = {{"SLURM_JOB_ID", "17"},
                              {"SLURM_JOB_NODELIST", "n[0-3]"},
                              {"SLURM_STEP_ID", "0"},
                              {"SLURM_STEP_NODELIST", "n[0-3]"},
                              {"SLURM_STEP_NUM_TASKS", "4"},
                              {"SLURM_STEP_TASKS_PER_NODE", "1(x4)"},
                              {"SLURMD_NODENAME", "n2"},
                              {"SLURM_NODEID", "2"},
                              {"SLURM_PROCID", "2"},
                              {"SLURM_LOCALID", "0"},
                              {"PYTORCH_VERSION", "2.4.0a0"},
                              {"RANK", "2"},
                              {"LOCAL_RANK", "0"},
                              {"WORLD_SIZE", "4"},
                              {"MASTER_ADDR", "n0"},
                              {"MASTER_PORT", "61017"}};
  const auto place = PodInTest{"n2", hooked}.place();
  ASSERT_TRUE(place) << place.error().line();
  EXPECT_EQ(place->engine, EngineKind::slurm);
  EXPECT_EQ(place->stance, Stance::agent);
  EXPECT_EQ(place->node_count, 4);
  EXPECT_EQ(place->my_node, 2);
}

TEST(Pods, TheDomainIsTheHeadlessServices) {
  const struct {
    const char* host;
    const char* file;
    const char* domain;
  } rows[] = {
      {"web-1", "127.0.0.1\tlocalhost\n10.1.0.5\tweb-1.web.ns.svc.cluster.local\tweb-1\n",
       "web.ns.svc.cluster.local"},
      {"web-1.web.ns.svc.cluster.local", "", "web.ns.svc.cluster.local"},
      {"web-1", "10.1.0.5 web-1\n", ""},
      {"web-1", "# 10.1.0.5 web-1.web.ns.svc.cluster.local web-1\n", ""},
      {"web-1", "10.1.0.5 web-2.web.ns.svc.cluster.local web-2\n", ""},
      {"gpu-7", "10.0.0.7 gpu-7.rack2.example.com gpu-7\n", ""},
      {"web-1", "", ""},
  };
  for (const auto& row : rows) {
    EXPECT_EQ(domain_in_hosts(row.file, row.host), row.domain) << row.host << "\n" << row.file;
  }
}

TEST(Pods, TheAddressInKubeletsHostsFile) {
  const struct {
    const char* host;
    const char* file;
    const char* address;
  } rows[] = {
      {"web-1", "127.0.0.1\tlocalhost\n10.1.0.5\tweb-1.web.ns.svc.cluster.local\tweb-1\n",
       "10.1.0.5"},
      {"a-master-0", "127.0.0.1 localhost\nfd00::5 a-master-0\n", "fd00::5"},
      {"web-1", "127.0.1.1 web-1\n10.1.0.5 web-1\n", "10.1.0.5"},
      {"web-1", "127.0.0.1 localhost\n10.1.0.6 web-2\n# 10.1.0.5 web-1\n", ""},
      {"web-1", "", ""},
  };
  for (const auto& row : rows) EXPECT_EQ(address_in_hosts(row.file, row.host), row.address);
}

TEST(Pods, NumberedNames) {
  EXPECT_EQ(numbered("web-12")->number, 12);
  EXPECT_EQ(numbered("a-b-0")->base, "a-b");
  for (const char* name : {"", "web", "web-", "-1", "web-x1", "web-1234567", "web-1.svc"}) {
    EXPECT_FALSE(numbered(name)) << name;
  }
  EXPECT_EQ(role_in("a-worker-3")->job, "a");
  for (const char* name : {"-worker-3", "worker-3", "a-ps-0", "a-workers-0"}) {
    EXPECT_FALSE(role_in(name)) << name;
  }
}

}  // namespace
}  // namespace toprun::engines::kubernetes
