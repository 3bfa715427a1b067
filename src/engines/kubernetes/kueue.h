#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "engines/kubernetes/api.h"
#include "engines/kubernetes/kubernetes_jobs.h"

namespace toprun::engines::kubernetes {

// The resource of Workloads: Kueue keeps a job suspended until the job's Workload is admitted.
// v1beta2 has the same fields as v1beta1 (apis/kueue/v1beta1/workload_types.go).
inline constexpr Resource workloads_resource{"workloads.kueue.x-k8s.io", "v1beta1 v1beta2"};
// Kueue's separate API for the positions of jobs in a queue (apis/visibility/v1beta1/types.go),
// since 0.9.
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
  std::string name;   // the Workload's name
  std::string queue;  // the Workload's LocalQueue
  bool is_active = true;
  std::vector<Owner> owners;
  std::optional<Condition> reserved, admitted, evicted;
  std::vector<std::string> checks;  // admission checks that are not ready: "provisioning is
                                    // Pending: …"
};

// Reads a list of Workloads. Values that are missing or of another type stay unset. Pure function.
std::vector<Admission> admissions_in(const nlohmann::json& list);

// Whether this Workload belongs to exactly this job, or to the JobSet of a TrainJob. Pure function.
bool is_of(const Admission& admission, const Job& job, const Kind& kind);

// Returns why a job with this Workload waits, if possible in Kueue's words. Pure function.
std::string why_it_waits(const Admission& admission);

// Sets in `job` that it waits in Kueue, and why. Pure function.
void set_queued(Job& job, std::string why);

// Returns how many Workloads are before this one in its LocalQueue, from a PendingWorkloadsSummary.
// nullopt: the summary does not contain it. Pure function.
std::optional<std::int64_t> ahead_in(const nlohmann::json& summary, std::string_view workload);

}  // namespace toprun::engines::kubernetes
