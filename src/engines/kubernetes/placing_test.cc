#include <gtest/gtest.h>

#include "engines/kubernetes/manifest.h"
#include "engines/kubernetes/pod_template.h"

namespace toprun::engines::kubernetes {
namespace {

Workload job_with(Placement placement) {
  Workload job;
  job.name = "train";
  job.nodes = 4;
  job.image = "image";
  job.command = {"toprun", "train.py"};
  job.placement = std::move(placement);
  return job;
}

Placement placed_by(Placer placer) {
  Placement out;
  out.placer = placer;
  out.queue = "q";
  out.priority_class = "high";
  return out;
}

// Where a job's kind has its pods.
const Json& pods_of(const Json& object) {
  if (object["kind"] == "PyTorchJob") {
    return object["spec"]["pytorchReplicaSpecs"]["Master"]["template"];
  }
  const Json& spec =
      object["kind"] == "JobSet"
          ? object["spec"]
          : object["spec"]["runtimePatches"][0]["trainingRuntimeSpec"]["template"]["spec"];
  return spec["replicatedJobs"][0]["template"]["spec"]["template"];
}

struct PlacingCase {
  const char* what;
  Placement placement;
  const char* path;  // of a PyTorchJob, as a JSON pointer
  Json value;
};

std::vector<PlacingCase> cases() {
  return {
      {"Kueue's queue", placed_by(Placer::kueue), "/metadata/labels/kueue.x-k8s.io~1queue-name",
       "q"},
      {"Kueue's priority", placed_by(Placer::kueue),
       "/metadata/labels/kueue.x-k8s.io~1priority-class", "high"},
      {"Kueue's pods have no class", placed_by(Placer::kueue),
       "/spec/pytorchReplicaSpecs/Worker/template/spec/priorityClassName", nullptr},
      {"Volcano's policy",
       placed_by(Placer::volcano),
       "/spec/runPolicy/schedulingPolicy",
       {{"minAvailable", 4}, {"queue", "q"}, {"priorityClass", "high"}}},
      {"Volcano's pods", placed_by(Placer::volcano),
       "/spec/pytorchReplicaSpecs/Worker/template/spec/schedulerName", "volcano"},
      {"KAI's queue", placed_by(Placer::kai), "/metadata/labels/kai.scheduler~1queue", "q"},
      {"KAI's pods", placed_by(Placer::kai),
       "/spec/pytorchReplicaSpecs/Worker/template/spec/schedulerName", "kai-scheduler"},
      {"KAI's pods are in the queue", placed_by(Placer::kai),
       "/spec/pytorchReplicaSpecs/Worker/template/metadata/labels/kai.scheduler~1queue", "q"},
      {"Run:AI's project", placed_by(Placer::runai), "/metadata/labels/runai~1queue", "q"},
      {"Run:AI's pods", placed_by(Placer::runai),
       "/spec/pytorchReplicaSpecs/Worker/template/spec/schedulerName", "runai-scheduler"},
      {"the cluster's priority", placed_by(Placer::cluster),
       "/spec/pytorchReplicaSpecs/Worker/template/spec/priorityClassName", "high"},
      {"no scheduler of its own", placed_by(Placer::cluster),
       "/spec/pytorchReplicaSpecs/Worker/template/spec/schedulerName", nullptr},
  };
}

TEST(Placing, QueueAndPriorityInEachSchedulersWords) {
  for (const PlacingCase& one : cases()) {
    const Json object = pytorchjob(job_with(one.placement));
    EXPECT_EQ(object.value(Json::json_pointer(one.path), Json(nullptr)), one.value) << one.what;
  }
}

TEST(Placing, NodesAreChosenAlikeInEveryKind) {
  Placement placement;
  placement.selector = {{"gpu", "h100"}};
  placement.tolerations = {{"nvidia.com/gpu", std::nullopt, "NoSchedule"}, {"team", "a", ""}};
  placement.pools = {"p0", "p1"};
  placement.together = Together{"nvidia.com/gpu.clique", true};
  for (const Operator which : {Operator::pytorchjob, Operator::trainjob, Operator::jobset}) {
    const Json object = manifest(which, job_with(placement));
    const Json& pods = pods_of(object);
    const Json& spec = pods["spec"];
    EXPECT_EQ(spec["nodeSelector"], Json({{"gpu", "h100"}}));
    EXPECT_EQ(spec["tolerations"], Json::parse(R"([{"key": "nvidia.com/gpu", "operator": "Exists",
                               "effect": "NoSchedule"},
                              {"key": "team", "operator": "Equal", "value": "a"}])"));
    const Json& terms = spec["affinity"]["nodeAffinity"]
                            ["requiredDuringSchedulingIgnoredDuringExecution"]["nodeSelectorTerms"];
    ASSERT_EQ(terms.size(), 4u);
    EXPECT_EQ(terms[0]["matchExpressions"][0],
              Json::parse(R"({"key": "cloud.google.com/gke-nodepool", "operator": "In",
                              "values": ["p0", "p1"]})"));
    EXPECT_EQ(spec["affinity"]["podAffinity"],
              Json::parse(R"({"requiredDuringSchedulingIgnoredDuringExecution": [
                {"labelSelector": {"matchLabels": {"toprun.io/job": "train"}},
                 "topologyKey": "nvidia.com/gpu.clique"}]})"));
    EXPECT_EQ(pods["metadata"]["labels"]["toprun.io/job"], "train");
  }
}

TEST(Placing, APreferenceLetsPodsGoElsewhere) {
  Placement placement;
  placement.together = Together{"rack", false};
  Workload job = job_with(placement);
  job.mark = "train-0000002a";
  const Json object = jobset(job);
  const Json& pods = pods_of(object);
  EXPECT_EQ(pods["spec"]["affinity"]["podAffinity"],
            Json::parse(R"({"preferredDuringSchedulingIgnoredDuringExecution": [
              {"weight": 100, "podAffinityTerm":
                {"labelSelector": {"matchLabels": {"toprun.io/job": "train-0000002a"}},
                 "topologyKey": "rack"}}]})"));
}

TEST(Placing, KueueIsToldTheLevelAndThatAMasterBelongsToItsWorkers) {
  Placement placement = placed_by(Placer::kueue);
  for (const bool required : {true, false}) {
    placement.together = Together{"rack", required};
    const std::string key = required ? "kueue.x-k8s.io/podset-required-topology"
                                     : "kueue.x-k8s.io/podset-preferred-topology";
    const Json torch = pytorchjob(job_with(placement));
    const Json& replicas = torch["spec"]["pytorchReplicaSpecs"];
    for (const char* role : {"Master", "Worker"}) {
      EXPECT_EQ(replicas[role]["template"]["metadata"]["annotations"],
                Json({{key, "rack"}, {"kueue.x-k8s.io/podset-group-name", "nodes"}}));
    }
    const Json set = jobset(job_with(placement));
    EXPECT_EQ(pods_of(set)["metadata"], Json({{"annotations", {{key, "rack"}}}}));
    EXPECT_FALSE(pods_of(set)["spec"].contains("affinity"));
  }
}

TEST(Placing, VolcanoReadsAJobSetsGangFromItsJob) {
  const Json set = jobset(job_with(placed_by(Placer::volcano)));
  EXPECT_EQ(set["spec"]["replicatedJobs"][0]["template"]["metadata"]["annotations"],
            Json({{"scheduling.volcano.sh/group-min-member", "4"}}));
  EXPECT_EQ(pods_of(set)["metadata"]["annotations"],
            Json({{"scheduling.volcano.sh/queue-name", "q"}}));
}

TEST(Placing, ATrainJobsQueueOfVolcanoIsItsRuntimes) {
  Workload job = job_with(placed_by(Placer::volcano));
  job.runtime = "torch-volcano";
  const Json object = trainjob(job);
  EXPECT_EQ(object["spec"]["runtimeRef"]["name"], "torch-volcano");
  EXPECT_EQ(object["spec"]["runtimePatches"][0]["trainingRuntimeSpec"]["template"]["metadata"],
            Json({{"annotations", {{"scheduling.volcano.sh/queue-name", "q"}}}}));
}

TEST(Placing, APoolOfKaisIsALabelOfThePods) {
  Placement placement = placed_by(Placer::kai);
  placement.pools = {"p0"};
  const Json object = jobset(job_with(placement));
  EXPECT_EQ(pods_of(object)["metadata"]["labels"]["kai.scheduler/node-pool"], "p0");
  EXPECT_FALSE(pods_of(object)["spec"].contains("affinity"));
}

}  // namespace
}  // namespace toprun::engines::kubernetes
