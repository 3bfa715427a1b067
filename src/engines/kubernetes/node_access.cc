#include "engines/kubernetes/node_access.h"

#include <fmt/format.h>

namespace toprun::engines::kubernetes {

std::vector<std::string> node_access(const Workload& job) {
  if (job.nodes < 2) return {};
  const std::string space = job.space.empty() ? "NAMESPACE" : job.space;
  const std::string account = job.service_account.empty() ? "default" : job.service_account;
  return {
      "Ranks follow the network's topology where pods may read the nodes' labels:",
      "kubectl create clusterrole toprun-topology --verb=get,list --resource=nodes",
      fmt::format("kubectl create clusterrolebinding toprun-topology-{0} "
                  "--clusterrole=toprun-topology --serviceaccount={0}:{1}",
                  space, account),
  };
}

}  // namespace toprun::engines::kubernetes
