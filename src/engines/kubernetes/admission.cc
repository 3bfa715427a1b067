#include "engines/kubernetes/admission.h"

#include <fmt/format.h>

#include "base/process/command.h"
#include "base/text/text.h"
#include "engines/kubernetes/json_object.h"
#include "engines/kubernetes/kubernetes_jobs.h"

namespace toprun::engines::kubernetes {
namespace {

// What kubectl prints; empty: it does not answer, or refuses.
std::string reported(std::vector<std::string> words, const std::string& space,
                     const Environment& environment, std::chrono::milliseconds limit) {
  words.insert(words.begin(), "kubectl");
  if (!space.empty()) words.insert(words.begin() + 1, {"-n", space});
  auto answer = process::run(words, environment, limit);
  return answer && answer->code == 0 ? std::move(answer->out) : std::string();
}

}  // namespace

bool is_restricted(std::string_view namespace_object) {
  const auto object = parse_object(namespace_object);
  if (!object) return false;
  return text_at(*object, {"metadata", "labels", "pod-security.kubernetes.io/enforce"}) ==
         "restricted";
}

bool is_ones_own(std::string_view object) {
  const auto found = parse_object(object);
  if (!found || text_at(*found, {"metadata", "name"}).empty()) return false;
  const auto& owners = at(*found, {"metadata", "ownerReferences"});
  return !owners.is_array() || owners.empty();
}

bool asks_for_restricted(const std::string& space, const Environment& environment,
                         std::chrono::milliseconds limit) {
  std::string name = space;
  if (name.empty()) {
    name = trim(reported({"config", "view", "--minify", "-o", "jsonpath={..namespace}"}, {},
                         environment, limit));
  }
  if (name.empty()) name = "default";
  return is_restricted(reported({"get", "namespace", name, "-o", "json"}, {}, environment, limit));
}

std::optional<std::string> namesake(Operator which, const std::string& name,
                                    const std::string& space, const Environment& environment,
                                    std::chrono::milliseconds limit) {
  for (const Kind& kind : kinds) {
    if (kind.word == kind_of(which)) continue;
    const std::string found =
        reported({"get", std::string(kind.resource), name, "--ignore-not-found", "-o", "json"},
                 space, environment, limit);
    if (is_ones_own(found)) return std::string(kind.word);
  }
  return std::nullopt;
}

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
