#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/os/environment.h"
#include "base/text/error.h"

namespace toprun::engines::kubernetes {

// Which program started this pod. The first kind in this table whose evidence is present applies:
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
// Kueue starts jobs of these kinds. The kubelet sets KUBERNETES_SERVICE_HOST in every container;
// without this variable, a process is not in a pod. If TORCHELASTIC_RUN_ID is set, another launcher
// started the process in the pod, and no kind applies.
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

// A fact, and the environment variable or host name from which it was read.
template <class T>
struct Sourced {
  T value{};
  std::string source;
};

// Facts about the job from a pod's environment. Unknown facts are unset.
struct Pod {
  PodKind kind = PodKind::stateful_set;
  std::string evidence;                      // "JOB_COMPLETION_INDEX=1"
  std::optional<Sourced<int>> count;         // pods of the job, at least 1; for MIN:MAX the maximum
  std::optional<Sourced<int>> index;         // of this pod, 0 ≤ index < count
  std::optional<Sourced<std::string>> root;  // host name or address of pod 0
  std::optional<int> port;                   // the port on which pod 0 must listen
  std::vector<std::string> names;            // the pods' host names by index; may be empty
  std::string job;                           // the same in all pods of the job; may be empty
  std::vector<std::string> notes;            // contradictions that were resolved
};

// Facts from the host. The name is the result of gethostname(2). The kubelet writes the domain to
// /etc/hosts: "web.default.svc.cluster.local"; the domain is empty without a headless service.
struct PodHost {
  std::string name;
  std::string domain;
};

// Reads the job's facts. RANK and WORLD_SIZE are known to count pods only with PyTorchJob up to
// 1.6, Run:AI and Volcano's plugin. With PyTorchJob from 1.7 on, WORLD_SIZE may be the pods times
// the processes per pod, and PET_ variables count the pods. If a PET_ variable is set, it takes
// precedence over the other variables. nullopt: not a pod of a known kind. Error: a variable
// contradicts another or is not a number.
Result<std::optional<Pod>> read_pod(const Environment& environment, const PodHost& host);

// `toprun submit` sets this variable in pods that are not started again after the run's end. In
// such pods, only pod 0's exit code counts (Allocation::root_speaks). If the variable has the value
// each_code, each pod's exit code counts (Allocation::lost_return).
inline constexpr const char* one_code_variable = "TOPRUN_ONE_CODE";
inline constexpr const char* each_code = "each";

// The host file in the launcher pod of an MPIJob, or of a TrainJob with MPI. The operator mounts
// the file and sets this path in the variable that Open MPI, Intel MPI or MPICH reads (mpi-operator
// v0.6 pkg/controller/mpi_job_controller.go).
inline constexpr const char* mpi_host_file = "/etc/mpi/hostfile";
bool is_mpi_launcher(const Environment& environment);

// Returns the domain that follows the host's name in a file in the form of /etc/hosts (hosts(5)),
// as kubelet writes it: "10.1.0.5 web-1.web.default.svc.cluster.local web-1". Empty: none.
std::string domain_in_hosts(std::string_view hosts_file, std::string_view host_name);

// Returns the address before the host's own name in a file like /etc/hosts. This is the pod's
// address or, for a pod on the host network, the node's address. Empty: not found.
std::string address_in_hosts(std::string_view hosts_file, std::string_view host_name);

// Returns the names of the variables with which an operator gives a pod its number in the job. A
// variable with the number of processes per node is left out, because it applies to any run in the
// pod.
std::vector<std::string> world_variables(const Environment& environment);

}  // namespace toprun::engines::kubernetes
