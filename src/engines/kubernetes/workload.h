#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace toprun::engines::kubernetes {

// A PersistentVolumeClaim in the job's namespace, and its mount path in pods.
struct Claim {
  std::string name;
  std::string path;  // absolute
  bool read_only = false;
  bool operator==(const Claim&) const = default;
};

// The component that decides where pods run.
enum class Placer {
  cluster,  // the cluster's default scheduler
  kueue,    // admits whole jobs from its queues; the cluster's scheduler then places their pods
  volcano,
  kai,
  runai,  // the KAI scheduler under its older name; projects are its queues
};

// Pods may run on nodes with this taint. "key" without a value matches every value.
struct Toleration {
  std::string key;
  std::optional<std::string> value = {};
  std::string effect = {};  // NoSchedule, PreferNoSchedule, NoExecute; empty: all effects
  bool operator==(const Toleration&) const = default;
};

// A node label with which all pods are kept together. Its value must or should be the same on their
// nodes, as for one rack or one NVLink domain.
struct Together {
  std::string key;  // "nvidia.com/gpu.clique"
  bool required = false;
  bool operator==(const Together&) const = default;
};

// Where pods may run, and their queue and priority, in a form that does not depend on the engine.
struct Placement {
  Placer placer = Placer::cluster;
  std::string queue = {};               // empty: the placer's default
  std::string priority_class = {};      // empty: the default
  std::vector<std::string> pools = {};  // node pools; the job gets one of them; if they are
                                        // ordered, the first pool with room
  std::vector<std::pair<std::string, std::string>> selector = {};  // labels that nodes must have
  std::vector<Toleration> tolerations = {};
  std::optional<Together> together = {};
};

// A variable whose value comes from a Secret in the pods' namespace.
struct SecretVariable {
  std::string name;
  std::string secret = {};  // empty: the job's own Secret, which is deleted with the job
  std::string key = {};     // in the Secret
  bool operator==(const SecretVariable&) const = default;
};

// User and groups of a pod's processes; unset: as the image specifies.
struct RunAs {
  std::int64_t user = 0;
  std::optional<std::int64_t> group = {};
  bool operator==(const RunAs&) const = default;
};

// A job with one pod per node, in a form that does not depend on the operator that starts the pods.
struct Workload {
  std::string name;                // see object_name.h
  bool name_is_beginning = false;  // the user did not choose the name, so the cluster appends a
                                   // unique suffix to it
  std::string space = {};          // namespace; empty: that of kubectl's context
  int nodes = 1;
  std::optional<int> least_nodes = {};  // set for an elastic job: it runs with this many nodes up
                                        // to `nodes`
  std::optional<int> workers = {};      // on each node; unset: the command contains a word such as
                                        // "gpu"
  int gpus = 0;                         // of each pod
  std::string gpu_resource = "nvidia.com/gpu";
  std::optional<int> cpus = {};            // of each pod
  std::optional<std::string> memory = {};  // of each pod, a quantity: "64Gi"
  std::string image;
  std::vector<std::string> command;  // toprun and its arguments, as the pod must receive them
  std::string folder = {};           // working directory; empty: as in the image
  std::vector<std::pair<std::string, std::string>> variables = {};
  std::vector<Claim> claims = {};
  std::vector<std::pair<std::string, std::string>> annotations = {};  // of the pods
  std::vector<std::pair<std::string, std::string>> labels = {};       // of the job
  std::vector<std::pair<std::string, int>> resources = {};            // "rdma/rdma" 1, of each pod
  std::optional<std::chrono::seconds> limit = {};
  int restarts = 0;  // restarts of the ranks; above 0, lost pods are created again
  Placement placement = {};
  std::string mark = {};  // unique to this job, so that pods find each other; empty: the name
  std::optional<std::string> shared_memory = {};  // size of /dev/shm, a quantity; unset: no limit
  bool host_network = false;                      // the node's interfaces instead of the pod's
  bool locks_memory = false;  // the pod may lock any amount of memory; needed for RDMA on nodes
                              // with a memlock limit
  bool restricted = false;    // meets Pod Security's "restricted" level
  std::optional<RunAs> run_as = {};
  std::string toprun_image = {};  // an image with the toprun binary; empty: the job's image
                                  // contains the binary
  std::string runtime = {};       // for a TrainJob; empty: Kubeflow's torch-distributed
  std::string runtime_kind = {};  // "TrainingRuntime", in the namespace; empty: in the cluster
  std::vector<SecretVariable> secret_variables = {};
  std::string own_secret = {};                 // a Secret created for this job; empty: none
  std::vector<std::string> env_from = {};      // Secrets whose keys all become variables
  std::string service_account = {};            // empty: the namespace's default
  std::vector<std::string> pull_secrets = {};  // credentials for the image's registry
};

}  // namespace toprun::engines::kubernetes
