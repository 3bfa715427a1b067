#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "engines/kubernetes/api.h"
#include "engines/kubernetes/jobs.h"

namespace toprun::engines::kubernetes {

// Kueue keeps a job suspended until its Workload is admitted. v1beta2 has the same fields
// (apis/kueue/v1beta1/workload_types.go).
inline constexpr Resource workloads_resource{"workloads.kueue.x-k8s.io", "v1beta1 v1beta2"};
// Its own API server for the order of a queue (apis/visibility/v1beta1/types.go), since 0.9.
inline constexpr Resource visibility_resource{"localqueues.visibility.kueue.x-k8s.io",
                                              "v1beta1 v1beta2"};

struct Admission {
  struct Owner {
    std::string kind, name, uid;
  };
  struct Condition {
    bool holds = false;
    std::string reason, message;
  };
  std::string name;   // of the Workload
  std::string queue;  // its LocalQueue
  bool is_active = true;
  std::vector<Owner> owners;
  std::optional<Condition> reserved, admitted, evicted;
  std::vector<std::string> checks;  // those that are not ready: "provisioning is Pending: …"
};

// The Workloads in a list. What is missing or of another type stays unset. Pure.
std::vector<Admission> admissions_in(const nlohmann::json& list);

// Whether this is the Workload of the job: of this very object, or of the JobSet that a TrainJob
// has made. Pure.
bool is_of(const Admission& admission, const Job& job, const Kind& kind);

// Why a job of this Workload waits, in Kueue's words where it has any. Pure.
std::string why_it_waits(const Admission& admission);

// The job waits in Kueue, for this. Pure.
void set_queued(Job& job, std::string why);

// How many Workloads of its LocalQueue come before this one, in a PendingWorkloadsSummary. Pure.
std::optional<std::int64_t> ahead_in(const nlohmann::json& summary, std::string_view workload);

}  // namespace toprun::engines::kubernetes
