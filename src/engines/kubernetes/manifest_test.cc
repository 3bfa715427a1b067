#include "engines/kubernetes/manifest.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <random>

namespace toprun::engines::kubernetes {
namespace {

using Json = nlohmann::ordered_json;

Workload four_nodes() {
  Workload job;
  job.name = "train";
  job.nodes = 4;
  job.gpus = 8;
  job.image = "registry/image:1";
  job.command = {"toprun", "train.py"};
  return job;
}

// What kubelet makes of a word where these names are defined: $$ is $, $(NAME) its value, and an
// undefined one stays.
std::string expanded(std::string_view text, std::string_view name, std::string_view value) {
  std::string out;
  while (!text.empty()) {
    const std::string reference = "$(" + std::string(name) + ")";
    if (text.starts_with("$$")) {
      out += '$';
      text.remove_prefix(2);
    } else if (text.starts_with(reference)) {
      out += value;
      text.remove_prefix(reference.size());
    } else {
      out += text.front();
      text.remove_prefix(1);
    }
  }
  return out;
}

TEST(Manifest, KubeletGivesEveryWordBack) {
  EXPECT_EQ(unexpanded("$(A) $A $$(A) $"), "$$(A) $$A $$$$(A) $$");
  std::mt19937 random(1);
  const std::string letters = "$$$()A \n";
  for (int i = 0; i < 10'000; ++i) {
    std::string word;
    for (std::size_t left = random() % 12; left > 0; --left) {
      word += letters[random() % letters.size()];
    }
    EXPECT_EQ(expanded(unexpanded(word), "A", "value"), word);
  }
}

TEST(Manifest, APyTorchJobHasAMasterAndWorkers) {
  const Json job = pytorchjob(four_nodes());
  EXPECT_EQ(job["metadata"]["name"], "train");
  const Json& pods = job["spec"]["pytorchReplicaSpecs"];
  EXPECT_EQ(pods["Master"]["replicas"], 1);
  EXPECT_EQ(pods["Worker"]["replicas"], 3);
  const Json& container = pods["Worker"]["template"]["spec"]["containers"][0];
  EXPECT_EQ(container["name"], "pytorch");
  EXPECT_EQ(container["resources"]["limits"]["nvidia.com/gpu"], "8");
  EXPECT_EQ(container["command"], Json::array({"toprun", "train.py"}));
  EXPECT_FALSE(job["spec"]["runPolicy"].contains("backoffLimit"));
  EXPECT_EQ(pods["Worker"]["restartPolicy"], "Never");
  EXPECT_FALSE(job["spec"].contains("elasticPolicy"));
}

TEST(Manifest, OneNodeHasNoWorkers) {
  Workload job = four_nodes();
  job.nodes = 1;
  EXPECT_FALSE(pytorchjob(job)["spec"]["pytorchReplicaSpecs"].contains("Worker"));
}

TEST(Manifest, AnElasticJobHasWorkersAlone) {
  Workload job = four_nodes();
  job.least_nodes = 2;
  const Json spec = pytorchjob(job)["spec"];
  EXPECT_EQ(spec["elasticPolicy"]["minReplicas"], 2);
  EXPECT_EQ(spec["elasticPolicy"]["maxReplicas"], 4);
  EXPECT_FALSE(spec["pytorchReplicaSpecs"].contains("Master"));
  const Json& workers = spec["pytorchReplicaSpecs"]["Worker"];
  EXPECT_EQ(workers["replicas"], 4);
  // Lost ones come again whatever --max-restarts, and the operator may see no success in a failure.
  EXPECT_EQ(workers["restartPolicy"], "ExitCode");
  const Json code = {{"name", "TOPRUN_ONE_CODE"}, {"value", "each"}};
  const Json& variables = workers["template"]["spec"]["containers"][0]["env"];
  EXPECT_NE(std::ranges::find(variables, code), variables.end());
}

TEST(Manifest, TheClusterCompletesANameThatNobodyChose) {
  Workload job = four_nodes();
  job.name_is_beginning = true;
  const Json metadata = trainjob(job)["metadata"];
  EXPECT_EQ(metadata["generateName"], "train-");
  EXPECT_FALSE(metadata.contains("name"));
}

TEST(Manifest, ClaimsAndSharedMemoryAreMounted) {
  Workload job = four_nodes();
  job.claims = {{"scratch", "/scratch", true}};
  const Json spec = pytorchjob(job)["spec"]["pytorchReplicaSpecs"]["Master"]["template"]["spec"];
  EXPECT_EQ(spec["volumes"][0]["emptyDir"]["medium"], "Memory");
  EXPECT_EQ(spec["volumes"][1]["persistentVolumeClaim"]["claimName"], "scratch");
  const Json& mounts = spec["containers"][0]["volumeMounts"];
  EXPECT_EQ(mounts[0]["mountPath"], "/dev/shm");
  EXPECT_EQ(mounts[1]["mountPath"], "/scratch");
  EXPECT_EQ(mounts[1]["readOnly"], true);
  const Json patch = trainjob(job)["spec"]["runtimePatches"][0]["trainingRuntimeSpec"]["template"];
  const Json& pods = patch["spec"]["replicatedJobs"][0]["template"]["spec"]["template"]["spec"];
  EXPECT_EQ(pods["volumes"], spec["volumes"]);
}

// Where each kind has its pods' one container.
const Json& spec_of_pods(const Json& object) {
  if (object["kind"] == "PyTorchJob") {
    return object["spec"]["pytorchReplicaSpecs"]["Worker"]["template"]["spec"];
  }
  const Json& patches = object["spec"];
  const Json& set = object["kind"] == "JobSet"
                        ? patches
                        : patches["runtimePatches"][0]["trainingRuntimeSpec"]["template"]["spec"];
  return set["replicatedJobs"][0]["template"]["spec"]["template"]["spec"];
}

constexpr std::array named_operators = {Operator::pytorchjob, Operator::trainjob, Operator::jobset};

TEST(Manifest, SharedMemoryHasASizeAndMemoryMayBeLocked) {
  Workload job = four_nodes();
  job.shared_memory = "64Gi";
  job.locks_memory = true;
  for (const Operator which : named_operators) {
    const Json object = manifest(which, job);
    const Json& spec = spec_of_pods(object);
    EXPECT_EQ(spec["volumes"][0]["emptyDir"], Json({{"medium", "Memory"}, {"sizeLimit", "64Gi"}}));
    EXPECT_EQ(spec["containers"][0]["securityContext"],
              Json::parse(R"({"capabilities": {"add": ["IPC_LOCK"]}})"));
  }
}

TEST(Manifest, AnImageBringsToprun) {
  Workload job = four_nodes();
  job.toprun_image = "registry/toprun:1";
  for (const Operator which : {Operator::pytorchjob, Operator::jobset}) {
    const Json object = manifest(which, job);
    const Json& spec = spec_of_pods(object);
    EXPECT_EQ(spec["initContainers"],
              Json::parse(R"([{"name": "toprun", "image": "registry/toprun:1",
                "command": ["sh", "-c", "exec cp \"$$(command -v toprun)\" /toprun.io/toprun"],
                "volumeMounts": [{"name": "toprun", "mountPath": "/toprun.io"}]}])"));
    EXPECT_EQ(spec["containers"][0]["command"], Json::array({"/toprun.io/toprun", "train.py"}));
    EXPECT_EQ(spec["containers"][0]["volumeMounts"][1]["mountPath"], "/toprun.io");
    EXPECT_EQ(spec["volumes"][1], Json({{"name", "toprun"}, {"emptyDir", Json::object()}}));
  }
}

TEST(Manifest, ACommandOfAnotherProgramStays) {
  Workload job = four_nodes();
  job.toprun_image = "registry/toprun:1";
  job.command = {"sh", "-c", "sleep 1"};
  for (const Operator which : {Operator::pytorchjob, Operator::jobset}) {
    const Json object = manifest(which, job);
    EXPECT_EQ(spec_of_pods(object)["containers"][0]["command"],
              Json::array({"sh", "-c", "sleep 1"}));
  }
}

TEST(Manifest, ATrainJobMountsTheImageThatBringsToprun) {
  Workload job = four_nodes();
  job.toprun_image = "registry/toprun:1";
  const Json object = trainjob(job);
  EXPECT_EQ(object["spec"]["trainer"]["command"],
            Json::array({"/toprun.io/usr/local/bin/toprun", "train.py"}));
  EXPECT_EQ(spec_of_pods(object)["volumes"][1],
            Json::parse(R"({"name": "toprun", "image": {"reference": "registry/toprun:1"}})"));
  EXPECT_FALSE(spec_of_pods(object).contains("initContainers"));
}

TEST(Manifest, PodsMayBeInTheHostsNetwork) {
  Workload job = four_nodes();
  job.host_network = true;
  for (const Operator which : {Operator::pytorchjob, Operator::jobset}) {
    const Json object = manifest(which, job);
    EXPECT_EQ(spec_of_pods(object)["hostNetwork"], true);
    EXPECT_EQ(spec_of_pods(object)["dnsPolicy"], "ClusterFirstWithHostNet");
  }
  const Json set = jobset(job);
  EXPECT_EQ(spec_of_pods(set)["containers"][0]["env"].back(),
            Json({{"name", "MASTER_ADDR"}, {"value", "$(JOBSET_NAME)-node-0-0.$(JOBSET_NAME)"}}));
}

TEST(Manifest, PodsOfSeveralNodesKnowTheirNodesNames) {
  const Json node = Json::parse(
      R"({"name": "NODE_NAME", "valueFrom": {"fieldRef": {"fieldPath": "spec.nodeName"}}})");
  EXPECT_EQ(trainjob(four_nodes())["spec"]["trainer"]["env"], Json::array({node}));
  Workload job = four_nodes();
  job.variables = {{"NODE_NAME", "mine"}};
  EXPECT_EQ(trainjob(job)["spec"]["trainer"]["env"].size(), 1u);
  job = four_nodes();
  job.nodes = 1;
  EXPECT_FALSE(trainjob(job)["spec"]["trainer"].contains("env"));
}

TEST(Manifest, ALongCommandOfATrainJobGoesOnInItsArguments) {
  Workload job = four_nodes();
  for (int i = 2; i < 200; ++i) job.command.push_back(std::to_string(i));
  const Json trainer = trainjob(job)["spec"]["trainer"];
  EXPECT_EQ(trainer["command"].size(), 128u);
  EXPECT_EQ(trainer["command"].back(), "127");
  EXPECT_EQ(trainer["args"].size(), 72u);
  EXPECT_EQ(trainer["args"].front(), "128");
}

TEST(Manifest, PodsOfAJobSetAreToldHowManyTheyAre) {
  const Json job = jobset(four_nodes())["spec"]["replicatedJobs"][0]["template"]["spec"];
  EXPECT_EQ(job["completions"], 4);
  EXPECT_EQ(job["parallelism"], 4);
  EXPECT_EQ(job["template"]["spec"]["restartPolicy"], "Never");
  EXPECT_EQ(job["template"]["spec"]["containers"][0]["env"][1],
            Json::parse(R"({"name": "PET_NNODES", "value": "4"})"));
}

TEST(Manifest, WithRestartsLostPodsAreMadeAgain) {
  Workload job = four_nodes();
  job.restarts = 2;
  const Json pods = pytorchjob(job)["spec"]["pytorchReplicaSpecs"];
  EXPECT_EQ(pods["Master"]["restartPolicy"], "Never");
  EXPECT_EQ(pods["Worker"]["restartPolicy"], "ExitCode");
  const Json set = jobset(job)["spec"];
  EXPECT_EQ(set["failurePolicy"]["maxRestarts"], 0);
  const Json indexed = set["replicatedJobs"][0]["template"]["spec"];
  EXPECT_EQ(indexed["backoffLimit"], 2);
  EXPECT_EQ(indexed["podFailurePolicy"]["rules"][0]["onPodConditions"][0]["status"], "True");
  EXPECT_EQ(indexed["podFailurePolicy"]["rules"][1]["action"], "FailJob");
}

TEST(Manifest, TheNumberOfRanksIsAlwaysWritten) {
  Workload job = four_nodes();
  job.workers = 8;
  EXPECT_EQ(pytorchjob(job)["spec"]["nprocPerNode"], "8");
  EXPECT_EQ(trainjob(job)["spec"]["trainer"]["numProcPerNode"], 8);
  const Json number = {{"name", "PET_NPROC_PER_NODE"}, {"value", "8"}};
  const Json set = jobset(job);
  const Json& variables = spec_of_pods(set)["containers"][0]["env"];
  EXPECT_NE(std::ranges::find(variables, number), variables.end());
}

TEST(Manifest, SecretsAreReferences) {
  Workload job = four_nodes();
  job.own_secret = "toprun-env-1";
  job.secret_variables = {{"HF_TOKEN", "", "HF_TOKEN"}, {"W", "tokens", "wandb"}};
  job.env_from = {"all"};
  job.service_account = "trainer";
  job.pull_secrets = {"registry"};
  const Json variables = Json::parse(R"([
    {"name": "HF_TOKEN", "valueFrom": {"secretKeyRef": {"name": "toprun-env-1", "key": "HF_TOKEN"}}},
    {"name": "W", "valueFrom": {"secretKeyRef": {"name": "tokens", "key": "wandb"}}}])");
  for (const Operator which : {Operator::pytorchjob, Operator::jobset}) {
    const Json object = manifest(which, job);
    const Json& spec = spec_of_pods(object);
    const Json& container = spec["containers"][0];
    for (const Json& one : variables) {
      EXPECT_NE(std::ranges::find(container["env"], one), container["env"].end()) << one;
    }
    EXPECT_EQ(container["envFrom"], Json::parse(R"([{"secretRef": {"name": "all"}}])"));
    EXPECT_EQ(spec["serviceAccountName"], "trainer");
    EXPECT_EQ(spec["imagePullSecrets"], Json::parse(R"([{"name": "registry"}])"));
  }
  job.env_from.clear();
  const Json train = trainjob(job);
  EXPECT_EQ(train["spec"]["trainer"]["env"][0], variables[0]);
  EXPECT_EQ(spec_of_pods(train)["serviceAccountName"], "trainer");
  EXPECT_EQ(spec_of_pods(train)["imagePullSecrets"][0]["name"], "registry");
}

TEST(Manifest, RestrictedPodsAreAsPodSecurityAsks) {
  Workload job = four_nodes();
  job.restricted = true;
  job.run_as = {1000, 100};
  job.toprun_image = "registry/toprun:1";
  const Json security = Json::parse(R"({"runAsUser": 1000, "runAsGroup": 100, "runAsNonRoot": true,
    "allowPrivilegeEscalation": false, "capabilities": {"drop": ["ALL"]},
    "seccompProfile": {"type": "RuntimeDefault"}})");
  for (const Operator which : named_operators) {
    const Json object = manifest(which, job);
    EXPECT_EQ(spec_of_pods(object)["containers"][0]["securityContext"], security);
    if (which == Operator::trainjob) continue;
    EXPECT_EQ(spec_of_pods(object)["initContainers"][0]["securityContext"], security);
  }
}

TEST(Manifest, ATrainJobSpeaksAsItsTrainersRelease) {
  Workload job = four_nodes();
  job.annotations = {{"a", "b"}};
  job.claims = {{"scratch", "/scratch"}};
  const Json of_2_1 = trainjob(job, PodChanges::template_overrides)["spec"];
  EXPECT_FALSE(of_2_1.contains("runtimePatches"));
  const Json& change = of_2_1["podTemplateOverrides"][0];
  EXPECT_EQ(change["targetJobs"], Json::parse(R"([{"name": "node"}])"));
  EXPECT_EQ(change["metadata"]["annotations"]["a"], "b");
  EXPECT_EQ(change["spec"]["volumes"][1]["persistentVolumeClaim"]["claimName"], "scratch");
  const Json of_2_0 = trainjob(job, PodChanges::spec_overrides)["spec"]["podSpecOverrides"][0];
  EXPECT_EQ(of_2_0["containers"], change["spec"]["containers"]);
  EXPECT_EQ(of_2_0["volumes"], change["spec"]["volumes"]);
}

TEST(Manifest, ARuntimeMayBeTheNamespaces) {
  Workload job = four_nodes();
  job.runtime = "mine";
  EXPECT_EQ(trainjob(job)["spec"]["runtimeRef"], Json::parse(R"({"name": "mine"})"));
  job.runtime_kind = "TrainingRuntime";
  EXPECT_EQ(trainjob(job)["spec"]["runtimeRef"],
            Json::parse(R"({"name": "mine", "kind": "TrainingRuntime"})"));
}

}  // namespace
}  // namespace toprun::engines::kubernetes
