#include <cstdint>
#include <cstdlib>

#include <nlohmann/json.hpp>

#include "base/json/json_text.h"
#include "engines/kubernetes/job_pods.h"
#include "engines/kubernetes/kubernetes_jobs.h"
#include "engines/kubernetes/kueue.h"
#include "engines/kubernetes/machines.h"

// A job that waits has a reason, and no node uses more GPUs than it has.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace toprun::engines;
  const auto value = toprun::json_in(std::string_view(reinterpret_cast<const char*>(data), size));
  if (value.is_discarded()) return 0;
  for (const kubernetes::Kind& kind : kubernetes::kinds) {
    const auto pods = kubernetes::pods_in(value, kind.pods_label);
    (void)kubernetes::pods_by_number(pods);
    for (Job job : kubernetes::jobs_in(value, kind)) {
      kubernetes::add_pods(job, pods);
      if (job.state == JobState::pending && job.reason.empty()) std::abort();
      for (const kubernetes::Admission& one : kubernetes::admissions_in(value)) {
        if (kubernetes::why_it_waits(one).empty()) std::abort();
      }
    }
  }
  auto nodes = kubernetes::nodes_in(value);
  kubernetes::add_usage(nodes, kubernetes::uses_in(value));
  for (const ClusterNode& node : nodes) {
    if (node.used_gpus > node.gpus || node.gpus < 0 || (node.idle && !node.usable)) std::abort();
  }
  (void)kubernetes::queues_in(value);
  (void)kubernetes::warnings_in(value);
  return 0;
}
