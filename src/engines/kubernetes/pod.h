#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/os/environment.h"
#include "base/text/error.h"

namespace toprun::engines::kubernetes {

// What started this pod. The first kind whose evidence is there:
//
//   | kind              | evidence                                                              |
//   |-------------------|-----------------------------------------------------------------------|
//   | volcano           | VC_TASK_INDEX, VK_TASK_INDEX or VC_<TASK>_HOSTS                       |
//   | leader_worker_set | LWS_LEADER_ADDRESS and LWS_GROUP_SIZE                                 |
//   | runai             | JOB_UUID and POD_UUID                                                 |
//   | pytorchjob        | RANK, WORLD_SIZE or PET_NNODES, and names that end in -master-N or    |
//   |                   |   -worker-N: the host's, MASTER_ADDR's or PET_RDZV_ENDPOINT's         |
//   | trainjob          | PET_MASTER_ADDR=<job>-node-0-0.<job> and JOB_COMPLETION_INDEX         |
//   | jobset            | JOB_COMPLETION_INDEX, host <set>-<job>-J-P in the domain <set>        |
//   | indexed_job       | JOB_COMPLETION_INDEX                                                  |
//   | stateful_set      | host <name>-N in the domain of a headless service                     |
//
// Kueue starts one of these. Without KUBERNETES_SERVICE_HOST, which the kubelet sets in every
// container, or with TORCHELASTIC_RUN_ID, which makes this a process of another launcher, it is not
// a pod of any kind.
enum class PodKind {
  volcano,
  leader_worker_set,
  runai,
  pytorchjob,
  trainjob,
  jobset,
  indexed_job,
  stateful_set,
};
std::string_view title_of(PodKind kind);  // "a PyTorchJob"

// A fact, and the variable or name that tells it.
template <class T>
struct Told {
  T value{};
  std::string source;
};

// What a pod's environment tells of the job. A fact that it does not tell is unset.
struct Pod {
  PodKind kind = PodKind::stateful_set;
  std::string evidence;                   // "JOB_COMPLETION_INDEX=1"
  std::optional<Told<int>> count;         // pods of the job, at least 1; of MIN:MAX the maximum
  std::optional<Told<int>> index;         // of this pod, 0 ≤ index < count
  std::optional<Told<std::string>> root;  // host name or address of pod 0
  std::optional<int> port;                // where pod 0 is to listen
  std::vector<std::string> names;         // the pods' host names by index, or none
  std::string job;                        // the same in all pods of the job; may be empty
  std::vector<std::string> notes;         // contradictions that were settled
};

// What the host tells: name as gethostname(2) does, domain as kubelet writes it to /etc/hosts,
// "web.default.svc.cluster.local"; empty without a headless service.
struct PodHost {
  std::string name;
  std::string domain;
};

// RANK and WORLD_SIZE count pods only where their writer is known to mean that: PyTorchJob up to
// 1.6, Run:AI and Volcano's plugin. From 1.7 on WORLD_SIZE may be pods times processes, and PET_
// variables tell the pods; those go before all others everywhere. nullopt: no pod of a known kind.
// Error: a variable that contradicts another or is not a number.
Result<std::optional<Pod>> read_pod(const Environment& environment, const PodHost& host);

// Set by `toprun submit` in pods that are not started again once the run has ended: then only pod
// 0's exit code counts (Allocation::root_speaks); where it is each_code, that of each pod
// (Allocation::lost_return).
inline constexpr const char* one_code_variable = "TOPRUN_ONE_CODE";
inline constexpr const char* each_code = "each";

// The launcher pod of an MPIJob, or of a TrainJob of MPI: the variable for the host file of Open
// MPI, Intel MPI or MPICH is this one, which the operator mounts (mpi-operator v0.6
// pkg/controller/mpi_job_controller.go).
inline constexpr const char* mpi_host_file = "/etc/mpi/hostfile";
bool is_mpi_launcher(const Environment& environment);

// The domain that follows the host's name in a file in the form of /etc/hosts (hosts(5)), as
// kubelet writes it: "10.1.0.5 web-1.web.default.svc.cluster.local web-1". Empty: none.
std::string domain_in_hosts(std::string_view hosts_file, std::string_view host_name);

// The address before the host's own name in such a file: the pod's, of a pod of the host network
// the node's. Empty: none.
std::string address_in_hosts(std::string_view hosts_file, std::string_view host_name);

// Of these variables, those with which an operator tells a pod its place in the job. That of the
// processes per node is not among them: it holds for any run in the pod.
std::vector<std::string> world_variables(const Environment& environment);

}  // namespace toprun::engines::kubernetes
