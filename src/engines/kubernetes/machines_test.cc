#include "engines/kubernetes/machines.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "base/json/json_text.h"
#include "base/text/text.h"

namespace toprun::engines::kubernetes {
namespace {

nlohmann::json list_of(const std::vector<std::string>& items) {
  return json_in(fmt::format(R"({{"kind":"List","items":[{}]}})", join(items, ",")));
}

std::string node(std::string_view name, std::string_view labels, std::string_view gpus,
                 std::string_view spec = "", std::string_view ready = "True") {
  return fmt::format(R"({{"metadata":{{"name":"{}","labels":{{{}}}}},"spec":{{{}}},
      "status":{{"allocatable":{{"cpu":"7910m","memory":"1Gi","pods":"110"{}}},
                 "conditions":[{{"type":"DiskPressure","status":"False"}},
                               {{"type":"Ready","status":"{}"}}]}}}})",
                     name, labels, spec,
                     gpus.empty() ? "" : fmt::format(R"(,"nvidia.com/gpu":"{}")", gpus), ready);
}

std::string pod(std::string_view on, std::string_view gpus, std::string_view metadata = "",
                std::string_view phase = "Running") {
  return fmt::format(R"({{"metadata":{{{}}},"spec":{{"nodeName":"{}","containers":[
      {{"resources":{{"limits":{{"cpu":"1"{}}}}}}}]}},"status":{{"phase":"{}"}}}})",
                     metadata, on,
                     gpus.empty() ? "" : fmt::format(R"(,"nvidia.com/gpu":"{}")", gpus), phase);
}

constexpr const char* a3 =
    R"("cloud.google.com/gke-nodepool":"a3","nvidia.com/gpu.product":"H100")";

std::string shown(const ClusterNode& node) {
  return fmt::format("{} in '{}': {}, {}/{} {} {}, {}{}", node.name, node.partitions.front(),
                     node.state, node.used_gpus, node.gpus, node.gpu_resource, node.gpu_kind,
                     node.usable ? "usable" : "", node.idle ? " idle" : "");
}

TEST(KubernetesMachines, NodesAreReadByTheirLabelsAndConditions) {
  const std::string gpu_taint =
      R"("taints":[{"key":"nvidia.com/gpu","effect":"NoSchedule"},{"key":"a","effect":"PreferNoSchedule"}])";
  const std::string taint = R"("taints":[{"key":"team","value":"x","effect":"NoSchedule"}])";
  for (const auto& [text, expected] : std::vector<std::pair<std::string, std::string>>{
           {node("n0", a3, "8"), "n0 in 'a3': ready, 0/8 nvidia.com/gpu H100, usable idle"},
           {node("n1", "", ""), "n1 in '': ready, 0/0  , usable idle"},
           {node("n2", a3, "8", gpu_taint),
            "n2 in 'a3': ready, 0/8 nvidia.com/gpu H100, usable idle"},
           {node("n3", a3, "8", taint), "n3 in 'a3': tainted team=x, 0/8 nvidia.com/gpu H100, "},
           {node("n4", a3, "8", R"("unschedulable":true)"),
            "n4 in 'a3': cordoned, 0/8 nvidia.com/gpu H100, "},
           {node("n5", a3, "8", "", "Unknown"), "n5 in 'a3': not ready, 0/8 nvidia.com/gpu H100, "},
       }) {
    const auto nodes = nodes_in(list_of({text}));
    ASSERT_EQ(nodes.size(), 1u) << text;
    EXPECT_EQ(shown(nodes.front()), expected);
    EXPECT_EQ(nodes.front().cpus, 7);
  }
}

TEST(KubernetesMachines, PodsUseGpus) {
  const auto nodes = nodes_in(list_of({node("g", a3, "8"), node("c", "", "")}));
  const auto with = [&](const std::vector<std::string>& pods) {
    auto used = nodes;
    add_usage(used, uses_in(list_of(pods)));
    return fmt::format("{}{} {}", used[0].used_gpus, used[0].idle ? " idle" : "",
                       used[1].idle ? "idle" : "");
  };
  const std::string daemon = R"("ownerReferences":[{"kind":"DaemonSet"}])";
  EXPECT_EQ(with({}), "0 idle idle");
  EXPECT_EQ(with({pod("g", "3"), pod("g", "2"), pod("c", "")}), "5 ");
  EXPECT_EQ(with({pod("g", "3", "", "Succeeded"), pod("g", ""), pod("", "4")}), "0 idle idle");
  EXPECT_EQ(with({pod("g", "", daemon), pod("c", "", daemon),
                  pod("c", "", R"("namespace":"kube-system")")}),
            "0 idle idle");
  EXPECT_EQ(with({pod("g", "80")}), "8 idle") << "no more than there are";
}

TEST(KubernetesMachines, PoolsSayWhyNodesTakeNoJobs) {
  const auto nodes = nodes_in(list_of(
      {node("n0", a3, "8"), node("n1", a3, "8", R"("unschedulable":true)"),
       node("n2", a3, "8", "", "False"), node("n3", a3, "8", "", "False"), node("c", "", "")}));
  const auto pools = pools_of(nodes);
  ASSERT_EQ(pools.size(), 2u);
  EXPECT_EQ(pools[0].name + "|" + pools[0].notes, "|");
  EXPECT_EQ(pools[1].name + "|" + pools[1].notes, "a3|1 node cordoned; 2 nodes not ready");
}

TEST(KubernetesMachines, MigInstancesAreGpusOfTheirOwnName) {
  const auto nodes = nodes_in(list_of(
      {R"({"status":{"allocatable":{"nvidia.com/gpu":"0","nvidia.com/mig-1g.10gb":"7"}}})"}));
  ASSERT_EQ(nodes.size(), 1u);
  EXPECT_EQ(nodes.front().gpu_resource, "nvidia.com/mig-1g.10gb");
  EXPECT_EQ(nodes.front().gpus, 7);
}

TEST(KubernetesMachines, QueuesOfKueue) {
  const auto queues = queues_in(list_of({R"({"metadata":{"name":"ml"},
      "spec":{"clusterQueue":"gpus"},"status":{"pendingWorkloads":3,"admittedWorkloads":2}})"}));
  ASSERT_EQ(queues.size(), 1u);
  const AdmissionQueue& queue = queues.front();
  EXPECT_EQ(fmt::format("{} {} {} {}", queue.name, queue.serves, *queue.waiting, *queue.running),
            "ml gpus 3 2");
}

TEST(KubernetesMachines, Quantities) {
  for (const auto& [text, cpus] : std::vector<std::pair<const char*, int>>{
           {"8", 8}, {"7910m", 7}, {"", 0}, {"m", 0}, {"-3", 0}, {"1k", 0}}) {
    EXPECT_EQ(whole_cpus(text), cpus) << text;
  }
}

TEST(KubernetesMachines, NonsenseIsUnset) {
  const std::vector<ClusterNode> before = nodes_in(list_of({node("g", a3, "8")}));
  for (const char* text : {"{}", R"({"items":[1,null,[]]})", R"({"items":7})",
                           R"({"items":[{"metadata":7,"spec":{"taints":7,"containers":[1]},
                               "status":{"allocatable":[],"conditions":7}}]})"}) {
    const auto value = json_in(text);
    for (const ClusterNode& one : nodes_in(value)) EXPECT_FALSE(one.usable) << text;
    for (const AdmissionQueue& one : queues_in(value)) EXPECT_EQ(one.name, "") << text;
    EXPECT_TRUE(claims_in(value).empty()) << text;
    auto nodes = before;
    add_usage(nodes, uses_in(value));
    EXPECT_EQ(shown(nodes.front()), shown(before.front())) << text;
  }
}

TEST(PodChoices, OperatorsByTheKindsThatTheClusterKnows) {
  EXPECT_EQ(join(parse_operators("pods\ntrainjobs.trainer.kubeflow.org\nmpijobs.kubeflow.org\n"
                                 "pytorchjobs.kubeflow.org\n"),
                 " "),
            "pytorchjob trainjob");
  EXPECT_TRUE(parse_operators("").empty());
}

TEST(PodChoices, ClaimsThatSeveralNodesCanMount) {
  const auto claim = [](std::string_view name, std::string_view mode) {
    return fmt::format(R"({{"metadata":{{"name":"{}"}},"spec":{{"accessModes":["{}"]}},
                            "status":{{"capacity":{{"storage":"1Ti"}}}}}})",
                       name, mode);
  };
  const auto claims =
      claims_in(list_of({claim("a", "ReadWriteOnce"), claim("b", "ReadWriteMany")}));
  ASSERT_EQ(claims.size(), 2u);
  EXPECT_EQ(claims[1].name + claims[1].size, "b1Ti");
  EXPECT_EQ(fmt::format("{} {}", claims[0].is_shared, claims[1].is_shared), "false true");
}

}  // namespace
}  // namespace toprun::engines::kubernetes
