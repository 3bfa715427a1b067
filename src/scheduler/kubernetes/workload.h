#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace toprun::scheduler::kubernetes {

// A PersistentVolumeClaim of the job's namespace, and where pods see it.
struct Claim {
  std::string name;
  std::string path;  // absolute
  bool read_only = false;
  bool operator==(const Claim&) const = default;
};

// A job of pods, one per node, whatever the operator that starts them.
struct Workload {
  std::string name;                // see object_name.h
  bool name_is_beginning = false;  // nobody chose it: the cluster adds what makes it unique
  std::string space = {};          // namespace; empty: the one of kubectl's context
  int nodes = 1;
  std::optional<int> least_nodes = {};  // set: elastic, from so many up to `nodes`
  std::optional<int> workers = {};      // on each node, where a number says so
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
  int restarts = 0;  // of a pod that has ended badly
};

}  // namespace toprun::scheduler::kubernetes
