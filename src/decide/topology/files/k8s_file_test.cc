#include <gtest/gtest.h>

#include "decide/topology/files/formats.h"
#include "decide/topology/slurm/yaml.h"
#include "decide/topology/topology_testing.h"

namespace toprun::topology {
namespace {

Result<Map> map_of(std::string_view json, const std::vector<Member>& members = {}) {
  const auto root = parse_json(json, "f.json");
  if (!root) return std::unexpected(root.error());
  return map_of_kubernetes(std::span(&*root, 1), "f.json", members);
}

std::string list(const std::string& items) {
  return R"({"apiVersion": "v1", "kind": "List", "items": [)" + items + "]}";
}

std::string node(const std::string& name, const std::string& labels) {
  return R"({"apiVersion": "v1", "kind": "Node", "metadata": {"name": ")" + name +
         R"(", "labels": {)" + labels + "}}}\n";
}

const std::string zone_label = R"("topology.kubernetes.io/zone": )";

TEST(K8sFile, ListsOfNodes) {
  const std::string two = node("n0", zone_label + "\"a\"") + "," + node("n1", zone_label + "\"b\"");
  EXPECT_EQ(text_of(map_of(list(two))), "zone\nn0 a f.json:1\nn1 b f.json:2\n");
  EXPECT_EQ(text_of(map_of(R"({"apiVersion": "v1", "kind": "NodeList", "items": [
                               {"metadata": {"name": "n0", "labels": {)" +
                           zone_label + "\"a\"}}}]}")),
            "zone\nn0 a f.json:2\n");
  EXPECT_EQ(text_of(map_of(node("n0", zone_label + "\"a\""))), "zone\nn0 a f.json:1\n");
  const auto yaml = parse_yaml(
      "apiVersion: v1\nkind: List\nitems:\n- apiVersion: v1\n  kind: Node\n  metadata:\n"
      "    labels:\n      topology.kubernetes.io/zone: a\n    name: n0\n",
      "f.yaml");
  ASSERT_TRUE(yaml);
  EXPECT_EQ(text_of(map_of_kubernetes(std::span(&*yaml, 1), "f.yaml", {})),
            "zone\nn0 a f.yaml:9\n");
}

TEST(K8sFile, OnlyTheMembersNodes) {
  std::vector<Member> members = {{"pod-1", "", ""}, {"N2.example.org", "", ""}};
  members[0].node = "n1";
  const std::string text =
      list(node("n1", zone_label + "\"a\"") + "," + node("n2", zone_label + "\"b\"") + "," +
           node("n3", zone_label + "\"c\""));
  EXPECT_EQ(text_of(map_of(text, members)), "zone\npod-1 a f.json:1\nN2.example.org b f.json:2\n");
}

TEST(K8sFile, ATopologyNamesTheLevels) {
  const std::string topology =
      R"({"apiVersion": "kueue.x-k8s.io/v1beta2", "kind": "Topology", "spec": {"levels": [
          {"nodeLabel": "x.org/block"}, {"nodeLabel": "x.org/rack"},
          {"nodeLabel": "kubernetes.io/hostname"}]}})";
  EXPECT_EQ(text_of(map_of(list(
                topology + "," +
                node("n0", R"("x.org/block": "b", "x.org/rack": "r", )" + zone_label + "\"a\"")))),
            "block rack\nn0 b/r f.json:3\n");
}

TEST(K8sFile, RefusesWhatItCannotPlace) {
  const std::vector<std::pair<std::string, std::string>> rows = {
      {list(R"({"kind": "Pod", "metadata": {"name": "p"}})"),
       "error: f.json:1:1: the file contains neither a Node nor a HyperNode"},
      {list(R"({"kind": "Node", "metadata": {}})"), "error: f.json:1:48: a node has no name"},
      {list(R"({"kind": "Node", "metadata": {"name": ["n0"]}})"), "error: f.json:1:48: a node ha"},
      {list(node("n0", "") + "," + node("n0", "")),
       "error: f.json:2: node n0 appears twice, first at f.json:1"},
  };
  for (const auto& [text, expected] : rows) {
    const std::string got = text_of(map_of(text));
    EXPECT_EQ(got.substr(0, expected.size()), expected) << text;
  }
}

std::string hypernode(const std::string& name, const std::string& tier,
                      const std::string& members) {
  return R"({"kind": "HyperNode", "metadata": {"name": ")" + name + R"("}, "spec": {"tier": )" +
         tier + R"(, "members": [)" + members + "]}}\n";
}

std::string exact(const std::string& type, const std::string& name) {
  return R"({"type": ")" + type + R"(", "selector": {"exactMatch": {"name": ")" + name + "\"}}}";
}

std::string matching(const std::string& type, const std::string& pattern) {
  return R"({"type": ")" + type + R"(", "selector": {"regexMatch": {"pattern": ")" + pattern +
         "\"}}}";
}

TEST(HyperNodes, MakeALevelOfEachTier) {
  const std::string text =
      list(hypernode("s2", "5", exact("HyperNode", "s0") + "," + exact("HyperNode", "s1")) + "," +
           hypernode("s0", "1", exact("Node", "n0")) + "," +
           hypernode("s1", "1", exact("Node", "n1") + "," + exact("Node", "n2")));
  EXPECT_EQ(text_of(map_of(text)),
            "spine leaf\nn0 s2/s0 f.json:2\nn1 s2/s1 f.json:3\n"
            "n2 s2/s1 f.json:3\n");
  EXPECT_EQ(text_of(map_of(text, {{"N1.x", "", ""}})), "spine leaf\nN1.x s2/s1 f.json:3\n");
}

TEST(HyperNodes, ChooseByExpressionsAndLabels) {
  const std::string by_labels =
      R"({"type": "Node", "selector": {"labelMatch": {"matchLabels": {"rack": "r1"}}}})";
  const std::string text = list(hypernode("top", "2", matching("HyperNode", "^s")) + "," +
                                hypernode("s0", "1", matching("Node", "^n[01]$")) + "," +
                                hypernode("s1", "1", by_labels) + "," + node("n0", "") + "," +
                                node("n1", "") + "," + node("n2", R"("rack": "r1")"));
  EXPECT_EQ(text_of(map_of(text)),
            "spine leaf\nn0 top/s0 f.json:2\nn1 top/s0 f.json:2\n"
            "n2 top/s1 f.json:3\n");
  const auto alone = map_of(list(hypernode("s1", "1", by_labels)));
  ASSERT_TRUE(alone);
  ASSERT_EQ(alone->warnings.size(), 1u);
  EXPECT_TRUE(
      alone->warnings[0].starts_with("f.json:1: HyperNode s1 selects nodes by label, and the "))
      << alone->warnings[0];
}

TEST(HyperNodes, TakeTheSitesNamesOfTiers) {
  EXPECT_EQ(text_of(map_of(list(
                R"({"kind": "HyperNode", "metadata": {"name": "a"}, "spec": {"tier": 1,
                    "tierName": "cabinet", "members": [)" +
                exact("Node", "n0") + "]}}"))),
            "cabinet\nn0 a f.json:1\n");
}

TEST(HyperNodes, RefuseWhatIsNoTree) {
  const std::vector<std::pair<std::string, std::string>> rows = {
      {hypernode("a", "1", exact("HyperNode", "a")),
       "error: f.json:1:187: HyperNode a of tier 1 is inside a of tier 1"},
      {hypernode("a", "2", exact("HyperNode", "b")) + "," +
           hypernode("b", "3", exact("HyperNode", "a")),
       "error: f.json:1:187: HyperNode b of tier 3 is inside a of tier 2"},
      {hypernode("a", "1", exact("Node", "n")) + "," + hypernode("b", "1", exact("Node", "n")),
       "error: f.json:2:2: node n is inside the HyperNodes a and b of tier 1"},
      {hypernode("a", "\"x\"", ""), "error: f.json:1:48: the tier of HyperNode a is missing"},
      {hypernode("a", "1", "") + "," + hypernode("a", "1", ""),
       "error: f.json:2:2: HyperNode a appears twice"},
      {hypernode("a", "1", matching("Node", "(")),
       "error: f.json:1:185: this is not a regular expression: "},
  };
  for (const auto& [items, expected] : rows) {
    const std::string got = text_of(map_of(list(items)));
    EXPECT_EQ(got.substr(0, expected.size()), expected) << items;
  }
}

TEST(HyperNodes, LookAtABoundedNumberOfNames) {
  std::string labels;
  for (int i = 0; i < 100; ++i) labels += fmt::format("{}\"k{}\": \"v\"", i == 0 ? "" : ", ", i);
  const std::string by_labels =
      R"({"type": "Node", "selector": {"labelMatch": {"matchLabels": {)" + labels + "}}}}";
  std::string items = node("first", "");
  for (int i = 0; i < 1'000; ++i) items += "," + node(fmt::format("n{}", i), "");
  for (int i = 0; i < 100; ++i) items += "," + hypernode(fmt::format("h{}", i), "1", by_labels);
  EXPECT_TRUE(text_of(map_of(list(items)))
                  .contains("there are too many selectors for this number of nodes"));
}

// A file with several objects, as users write it for `kubectl apply`.
TEST(K8sFile, ReadsSeveralDocuments) {
  const std::string_view text =
      "---\napiVersion: topology.volcano.sh/v1alpha1\nkind: HyperNode\nmetadata: {name: s0}\n"
      "spec: {tier: 1, members: [{type: Node, selector: {exactMatch: {name: n0}}}]}\n---\n---\n"
      "apiVersion: topology.volcano.sh/v1alpha1\nkind: HyperNode\nmetadata: {name: s1}\n"
      "spec: {tier: 1, members: [{type: Node, selector: {exactMatch: {name: n1}}}]}\n---\n"
      "apiVersion: v1\nkind: HyperNode\nmetadata: {name: p}\n"
      "spec: {tier: 2, members: [{type: HyperNode, selector: {exactMatch: {name: s0}}}]}\n";
  EXPECT_EQ(text_of(parse_yaml_file(text, "f.yaml")),
            "spine leaf\nn0 p/s0 f.yaml:2\nn1 -/s1 f.yaml:8\n");
}

// The values that labellers write if they have no information.
TEST(K8sFile, PlaceholdersAreNoDomains) {
  const std::string_view text =
      "apiVersion: v1\nkind: List\nitems:\n"
      "- {kind: Node, metadata: {name: n0, labels: {oci.oraclecloud.com/rdma.hpc_island_id: i, "
      "oci.oraclecloud.com/rdma.local_block_id: b0, nvidia.com/gpu.clique: "
      "00000000-0000-0000-0000-000000000000.0}}}\n"
      "- {kind: Node, metadata: {name: n1, labels: {oci.oraclecloud.com/rdma.hpc_island_id: i, "
      "oci.oraclecloud.com/rdma.local_block_id: no-imds-data, nvidia.com/gpu.clique: "
      "00000000-0000-0000-0000-000000000000.0}}}\n"
      "- {kind: Node, metadata: {name: n2, labels: {oci.oraclecloud.com/rdma.hpc_island_id: i, "
      "oci.oraclecloud.com/rdma.local_block_id: no-imds-data}}}\n";
  const auto map = parse_yaml_file(text, "f.yaml");
  ASSERT_TRUE(map) << map.error().line();
  EXPECT_EQ(text_of(*map),
            "hpc-island local-block\nn0 i/b0 f.yaml:4\nn1 i/? f.yaml:5\nn2 i/? f.yaml:6\n");
  EXPECT_EQ(map->warnings,
            (std::vector<std::string>{
                "f.yaml:5: 'no-imds-data' is not the name of a domain: toprun treats this level as "
                "not known (2 such "
                "hosts)",
                "f.yaml:4: '00000000-0000-0000-0000-000000000000.0' is not the name of a domain: "
                "toprun treats this level as not known (2 such hosts)"}));
}

}  // namespace
}  // namespace toprun::topology
