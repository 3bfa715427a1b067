#include "engines/kubernetes/kubernetes.h"

#include <gtest/gtest.h>

#include "engines/kubernetes/kubernetes_testing.h"
#include "engines/kubernetes/pod.h"

namespace toprun::engines::kubernetes {
namespace {

const PodInTest indexed_pod{"train-1", {{"JOB_COMPLETION_INDEX", "1"}}};
const PodInTest indexed_with_service{
    "train-1", {{"JOB_COMPLETION_INDEX", "1"}}, "peers.default.svc.cluster.local"};
const PodInTest stateful{"web-0", {}, "peers.default.svc.cluster.local"};
const PodInTest launcher{"job-launcher-x2",
                         {{"OMPI_MCA_orte_default_hostfile", "/etc/mpi/hostfile"}}};
const PodInTest worker_pod{"job-worker-0",
                           {{"RANK", "1"},
                            {"WORLD_SIZE", "4"},
                            {"MASTER_ADDR", "job-master-0"},
                            {"MASTER_PORT", "23456"}}};

Hints nnodes(int count, std::string source = "--nnodes") {
  Hints hints;
  hints.nnodes = count;
  hints.nnodes_source = std::move(source);
  return hints;
}

Hints at(Hints hints, std::string host, std::string source = "--master-addr") {
  hints.endpoint_source = std::move(source);
  hints.endpoint_host = std::move(host);
  return hints;
}

Hints ranked(Hints hints, int node_rank) {
  hints.node_rank = node_rank;
  return hints;
}

PodInTest with(PodInTest pod, const char* name, const char* value) {
  pod.environment.set(name, value);
  return pod;
}

TEST(Kubernetes, WhatIsRefused) {
  const struct {
    const char* what;
    PodInTest pod;
    Hints hints;
    const char* line;
  } rows[] = {
      {"an indexed Job tells no count",
       indexed_pod,
       {},
       "this is a pod of an Indexed Job (JOB_COMPLETION_INDEX=1): its variables do not contain the "
       "number of pods, and each pod would train on its own; give --nnodes PODS --master-addr "
       "HOST, HOST the name of pod 0 in a headless service; for a pod that trains on its own: "
       "--standalone"},
      {"… with a headless service",
       indexed_with_service,
       {},
       "this is a pod of an Indexed Job (JOB_COMPLETION_INDEX=1): its variables do not contain the "
       "number of pods, and each pod would train on its own; give --nnodes PODS; for a pod that "
       "trains on its own: --standalone"},
      {"… with a WORLD_SIZE that nobody explains",
       with(indexed_with_service, "WORLD_SIZE", "4"),
       {},
       "this is a pod of an Indexed Job (JOB_COMPLETION_INDEX=1): its variables do not contain the "
       "number of pods, and each pod would train on its own; give --nnodes PODS (PODS is 4 if "
       "WORLD_SIZE counts pods); for a pod that trains on its own: --standalone"},
      {"… with --nnodes and no service", indexed_pod, nnodes(2),
       "this is a pod of an Indexed Job (JOB_COMPLETION_INDEX=1): its variables do not set the "
       "rendezvous "
       "address of the pods; name a headless service in spec.template.spec.subdomain, or "
       "give "
       "--master-addr HOST of pod 0"},
      {"the second Job of a JobSet",
       {"set-w-1-0", {{"JOB_COMPLETION_INDEX", "0"}}, "set.default.svc.cluster.local"},
       {},
       "this is a pod of a JobSet (host set-w-1-0): its variables do not contain the number of "
       "pods, and each pod would train on its own; give --nnodes PODS --node-rank INDEX "
       "--master-addr HOST, HOST the name of pod 0 in a headless service; for a pod that trains on "
       "its own: --standalone"},
      {"… that was told how many there are",
       {"set-w-1-0",
        {{"JOB_COMPLETION_INDEX", "0"}, {"PET_NNODES", "4"}},
        "set.default.svc.cluster.local"},
       {},
       "this is a pod of a JobSet (host set-w-1-0): in a JobSet the pods of each Job are numbered "
       "from 0; give --node-rank INDEX, counted over all Jobs, and --master-addr HOST of pod 0; or "
       "put all pods into one Job: replicas 1, completions N"},
      {"a StatefulSet, pod 0 too",
       stateful,
       {},
       "this is a pod of a StatefulSet (host web-0): its variables do not contain the number of "
       "pods, and each pod would train on its own; give --nnodes PODS; for a pod that trains on "
       "its own: --standalone"},
      {"a parallel workload of Run:AI",
       {"job-1", {{"JOB_UUID", "5f"}, {"POD_UUID", "7"}, {"POD_INDEX", "1"}}},
       {},
       "this is a pod of a Run:AI workload (POD_INDEX=1): its variables do not contain the number "
       "of pods, and each pod would train on its own; give --nnodes PODS --master-addr HOST, HOST "
       "the name of pod 0 in a headless service; for a pod that trains on its own: --standalone"},
      {"Volcano's tasks of two kinds",
       {"job-ps-0", {{"VC_PS_HOSTS", "job-ps-0.job"}, {"VC_WORKER_HOSTS", "job-worker-0.job"}}},
       {},
       "this is a pod of a Volcano job (VC_ variables): its variables do not contain the number of "
       "pods, and each pod would train on its own; give --nnodes PODS --node-rank INDEX "
       "--master-addr HOST, HOST the name of pod 0 in a headless service; for a pod that trains on "
       "its own: --standalone"},
      {"MASTER_ADDR was taken away",
       with(worker_pod, "MASTER_ADDR", ""),
       {},
       "this is a pod of a PyTorchJob (RANK and WORLD_SIZE): its variables do not set the "
       "rendezvous address "
       "of the pods; give --master-addr HOST of pod 0"},
      {"Volcano's list is empty",
       {"job-train-0", {{"VC_TASK_INDEX", "0"}, {"VC_TRAIN_HOSTS", " ,"}}},
       {},
       "this is a pod of a Volcano job (VC_ variables): its variables do not contain the number of "
       "pods, and each pod would train on its own; give --nnodes PODS --node-rank INDEX "
       "--master-addr HOST, HOST the name of pod 0 in a headless service; for a pod that trains on "
       "its own: --standalone"},
      {"a number that is none",
       with(worker_pod, "WORLD_SIZE", "all"),
       {},
       "WORLD_SIZE=\"all\": in a pod, this variable must be a number from 1; correct or unset the "
       "variable"},
      {"RANK beyond WORLD_SIZE",
       with(worker_pod, "RANK", "4"),
       {},
       "RANK 4 and WORLD_SIZE 4: the pod's number must be smaller than the number of pods; give "
       "--nnodes and --node-rank"},
      {"fewer nodes than pods", with(worker_pod, "RANK", "3"), nnodes(2),
       "pod 3 (RANK): the job has 2 pods (--nnodes); pods are numbered from 0; correct --nnodes or "
       "--node-rank"},
  };
  for (const auto& row : rows) {
    const auto place = row.pod.place(row.hints);
    ASSERT_FALSE(place) << row.what;
    EXPECT_EQ(place.error().line(), row.line) << row.what;
    EXPECT_EQ(place.error()->exit_code, exit_usage) << row.what;
  }
}

TEST(Kubernetes, TheUserGoesBeforeThePodAndIsTold) {
  const struct {
    const char* what;
    PodInTest pod;
    Hints hints;
    int count;
    int index;
    const char* root;  // empty: where the user says
    const char* note;
  } rows[] = {
      {"nothing said", worker_pod, {}, 4, 1, "job-master-0", ""},
      {"the same said", worker_pod, at(ranked(nnodes(4), 1), "job-master-0"), 4, 1, "", ""},
      {"the same host by its long name", worker_pod, at(nnodes(4), "job-master-0.ns.svc"), 4, 1, "",
       ""},
      {"an address", worker_pod, at(nnodes(4), "10.0.0.3"), 4, 1, "", ""},
      {"what each pod has of its own", worker_pod, at(nnodes(4), "127.0.0.1"), 4, 1, "job-master-0",
       ""},
      {"… on pod 0", with(worker_pod, "RANK", "0"), at(nnodes(4), "localhost"), 4, 0,
       "job-master-0",
       "--master-addr localhost is different in each pod, so other pods cannot find pod 0 there: "
       "toprun uses job-master-0 from MASTER_ADDR instead"},
      {"… from an operator", worker_pod, at(nnodes(4), "localhost", "PET_MASTER_ADDR"), 4, 1, "",
       ""},
      {"the recipe for 1.6 under 1.7: WORLD_SIZE is not pods", with(worker_pod, "PET_NNODES", "2"),
       nnodes(16), 16, 1, "job-master-0", "--nnodes 16 overrides the pod's PET_NNODES=2"},
      {"from toprun.toml", worker_pod, nnodes(2, "toprun.toml:3"), 2, 1, "job-master-0",
       "toprun.toml:3 2 overrides the pod's WORLD_SIZE=4"},
      {"another rank", worker_pod, ranked({}, 2), 4, 2, "job-master-0",
       "--node-rank 2 overrides the pod's RANK=1"},
      {"another host", worker_pod, at({}, "elsewhere"), 4, 1, "",
       "--master-addr elsewhere overrides the pod's MASTER_ADDR=job-master-0"},
      {"PET_ against RANK", with(worker_pod, "PET_NODE_RANK", "3"), nnodes(4, "PET_NNODES"), 4, 3,
       "job-master-0", "PET_NODE_RANK=3 overrides RANK=1"},
      {"all of it said", indexed_pod, at(nnodes(2), "other"), 2, 1, "", ""},
      {"a count and a service", indexed_with_service, nnodes(2), 2, 1, "train-0.peers", ""},
  };
  for (const auto& row : rows) {
    const auto place = row.pod.place(row.hints);
    ASSERT_TRUE(place) << row.what << ": " << place.error().line();
    EXPECT_EQ(place->node_count, row.count) << row.what;
    EXPECT_EQ(place->my_node, row.index) << row.what;
    EXPECT_EQ(place->root_address, row.root) << row.what;
    EXPECT_EQ(place->notes.empty() ? "" : place->notes[0], row.note) << row.what;
  }
}

TEST(Kubernetes, WhatTheUserMayHaveAlone) {
  Hints standalone;
  standalone.standalone = true;
  for (const PodInTest& pod : {indexed_pod, stateful, worker_pod}) {
    for (const Hints& hints : {standalone, nnodes(1)}) {
      const auto place = pod.place(hints);
      ASSERT_TRUE(place) << pod.host << ": " << place.error().line();
      EXPECT_EQ(place->stance, Stance::single) << pod.host;
      EXPECT_EQ(place->node_count, 1) << pod.host;
    }
  }
}

TEST(Kubernetes, CalledTorchrunItOnlySaysWhatItWouldRefuse) {
  Hints torchrun;
  torchrun.called_torchrun = true;
  const auto place = indexed_pod.place(torchrun);
  ASSERT_TRUE(place) << place.error().line();
  EXPECT_EQ(place->stance, Stance::single);
  ASSERT_EQ(place->notes.size(), 1u);
  EXPECT_NE(place->notes[0].find("give --nnodes PODS"), std::string::npos);
}

// Open MPI's launcher sets these for what it starts, in the launcher's pod and in workers.
TEST(Kubernetes, RanksOfAnMpiJobAreMpiruns) {
  PodInTest rank = launcher;
  for (const auto& [name, value] : {std::pair("OMPI_COMM_WORLD_RANK", "1"),
                                    {"OMPI_COMM_WORLD_SIZE", "2"},
                                    {"OMPI_COMM_WORLD_LOCAL_RANK", "0"},
                                    {"OMPI_COMM_WORLD_LOCAL_SIZE", "1"}}) {
    rank.environment.set(name, value);
  }
  const auto place = rank.place();
  ASSERT_TRUE(place) << place.error().line();
  EXPECT_EQ(place->engine, EngineKind::mpi);
}

TEST(Kubernetes, TheLauncherOfAnMpiJob) {
  for (const char* name :
       {"OMPI_MCA_orte_default_hostfile", "I_MPI_HYDRA_HOST_FILE", "HYDRA_HOST_FILE"}) {
    Environment environment = {{name, mpi_host_file}};
    EXPECT_FALSE(is_mpi_launcher(environment)) << "no pod";
    environment.set("KUBERNETES_SERVICE_HOST", "10.96.0.1");
    EXPECT_TRUE(is_mpi_launcher(environment)) << name;
    environment.set(name, "hosts");
    EXPECT_FALSE(is_mpi_launcher(environment)) << name;
  }
}

}  // namespace
}  // namespace toprun::engines::kubernetes
