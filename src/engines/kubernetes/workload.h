#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace toprun::engines::kubernetes {

// A PersistentVolumeClaim of the job's namespace, and where pods see it.
struct Claim {
  std::string name;
  std::string path;  // absolute
  bool read_only = false;
  bool operator==(const Claim&) const = default;
};

// Who decides where pods go.
enum class Placer {
  cluster,  // whatever the cluster has
  kueue,    // admits jobs of its queues as a whole and leaves their pods to the cluster's scheduler
  volcano,
  kai,
  runai,  // KAI under its older name, with queues that are projects
};

// Pods may go to nodes with this taint; "key" without a value: whatever value it has.
struct Toleration {
  std::string key;
  std::optional<std::string> value = {};
  std::string effect = {};  // NoSchedule, PreferNoSchedule, NoExecute; empty: each of them
  bool operator==(const Toleration&) const = default;
};

// All pods on nodes that have the same value of this label: of one rack, one NVLink domain.
struct Together {
  std::string key;  // "nvidia.com/gpu.clique"
  bool required = false;
  bool operator==(const Together&) const = default;
};

// Where pods may go and in whose turn, in no engine's words.
struct Placement {
  Placer placer = Placer::cluster;
  std::string queue = {};               // empty: the placer's default
  std::string priority_class = {};      // empty: the default
  std::vector<std::string> pools = {};  // of nodes; one of them, the first that has room if ordered
  std::vector<std::pair<std::string, std::string>> selector = {};  // labels that nodes must have
  std::vector<Toleration> tolerations = {};
  std::optional<Together> together = {};
};

// A variable whose value the pods take from a Secret of their namespace.
struct SecretVariable {
  std::string name;
  std::string secret = {};  // empty: the job's own, which goes with it
  std::string key = {};     // in it
  bool operator==(const SecretVariable&) const = default;
};

// Who the processes of a pod are; unset: whom the image says.
struct RunAs {
  std::int64_t user = 0;
  std::optional<std::int64_t> group = {};
  bool operator==(const RunAs&) const = default;
};

// A job of pods, one per node, whatever the operator that starts them.
struct Workload {
  std::string name;                // see object_name.h
  bool name_is_beginning = false;  // not chosen by the user: the cluster makes it unique
  std::string space = {};          // namespace; empty: the one of kubectl's context
  int nodes = 1;
  std::optional<int> least_nodes = {};  // set: elastic, from so many up to `nodes`
  std::optional<int> workers = {};      // on each node; unset: the command says it in a word
  int gpus = 0;                         // of each pod
  std::string gpu_resource = "nvidia.com/gpu";
  std::optional<int> cpus = {};            // of each pod
  std::optional<std::string> memory = {};  // of each pod, a quantity: "64Gi"
  std::string image;
  std::vector<std::string> command;  // toprun and its words, as the pod is to get them
  std::string folder = {};           // working directory; empty: the image's
  std::vector<std::pair<std::string, std::string>> variables = {};
  std::vector<Claim> claims = {};
  std::vector<std::pair<std::string, std::string>> annotations = {};  // of the pods
  std::vector<std::pair<std::string, std::string>> labels = {};       // of the job
  std::vector<std::pair<std::string, int>> resources = {};            // "rdma/rdma" 1, of each pod
  std::optional<std::chrono::seconds> limit = {};
  int restarts = 0;  // of the ranks; with any, lost pods are made again
  Placement placement = {};
  std::string mark = {};  // no other job's, for the pods to find each other; empty: the name
  std::optional<std::string> shared_memory = {};  // size of /dev/shm, a quantity; unset: no limit
  bool host_network = false;                      // the node's interfaces instead of the pod's
  bool locks_memory = false;  // may pin what it likes, as RDMA needs where memlock is limited
  bool restricted = false;    // as Pod Security's level of that name asks
  std::optional<RunAs> run_as = {};
  std::string toprun_image = {};  // brings the binary; empty: the image has it
  std::string runtime = {};       // of a TrainJob; empty: Kubeflow's torch-distributed
  std::string runtime_kind = {};  // "TrainingRuntime", the namespace's; empty: the cluster's
  std::vector<SecretVariable> secret_variables = {};
  std::string own_secret = {};                 // the Secret that is made for this job; empty: none
  std::vector<std::string> env_from = {};      // Secrets whose keys are all variables
  std::string service_account = {};            // empty: the namespace's default
  std::vector<std::string> pull_secrets = {};  // for the registry of the image
};

}  // namespace toprun::engines::kubernetes
