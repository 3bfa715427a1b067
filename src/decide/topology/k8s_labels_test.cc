#include "decide/topology/k8s_labels.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "base/os/os_testing.h"
#include "base/text/text.h"
#include "decide/topology/topology_testing.h"

namespace toprun::topology {
namespace {

namespace fs = std::filesystem;

// "n0 key=value key=value"
LabelledNode node(std::string_view text) {
  LabelledNode made;
  for (const std::string_view word : split(text, ' ')) {
    const std::size_t equals = word.find('=');
    if (equals == word.npos) {
      made.name = word;
    } else {
      made.labels.emplace(word.substr(0, equals), word.substr(equals + 1));
    }
  }
  made.evidence = "labels";
  return made;
}

Result<Map> map_of(std::initializer_list<std::string> texts,
                   const std::vector<std::string>& site = {}) {
  std::vector<LabelledNode> nodes;
  for (const std::string& text : texts) nodes.push_back(node(text));
  return map_of_labels(nodes, "k8s", site);
}

TEST(K8sLabels, OfTopographFromOneOn) {
  const std::string tier = " fabric.topograph.run/tier-";
  const std::string domain = " accelerator.topograph.run/domain=";
  EXPECT_EQ(text_of(map_of({"a" + tier + "0=l0" + tier + "1=s" + domain + "x",
                            "b" + tier + "0=l0" + tier + "1=s" + domain + "x",
                            "c" + tier + "0=l1" + tier + "1=s" + domain + "y", "d"})),
            "spine leaf nvlink\na s/l0/x labels\nb s/l0/x labels\nc s/l1/y labels\n");
}

TEST(K8sLabels, OfTopographBeforeOne) {
  const std::string prefix = " network.topology.nvidia.com/";
  EXPECT_EQ(text_of(map_of({"a" + prefix + "leaf=l0" + prefix + "spine=s" + prefix + "core=c" +
                                prefix + "accelerator=x",
                            "b" + prefix + "leaf=l1" + prefix + "spine=s" + prefix + "core=c"})),
            "core spine leaf nvlink\na c/s/l0/x labels\nb c/s/l1/? labels\n");
}

TEST(K8sLabels, OfTheClouds) {
  const std::string eks = " topology.k8s.aws/network-node-layer-";
  EXPECT_EQ(text_of(map_of({"a" + eks + "1=t" + eks + "2=m" + eks + "3=l " +
                                "topology.k8s.aws/ultraserver-id=u",
                            "b" + eks + "1=m" + eks + "2=k"})),
            "core spine leaf nvlink\na t/m/l/u labels\nb ?/m/k/? labels\n");
  const std::string gke = " cloud.google.com/gce-topology-";
  EXPECT_EQ(text_of(map_of({"a" + gke + "block=b" + gke + "subblock=s" + gke + "host=h"})),
            "block subblock\na b/s labels\n");
  EXPECT_EQ(text_of(map_of({"a topology.gke.io/cluster=c topology.gke.io/rack=r"})),
            "cluster rack\na c/r labels\n");
  const std::string oke = " oci.oraclecloud.com/rdma.";
  EXPECT_EQ(text_of(map_of({"a" + oke + "hpc_island_id=h" + oke + "network_block_id=n" + oke +
                                "local_block_id=l",
                            "b oci.oraclecloud.com/host.network_block_id=n"})),
            "hpc-island network-block local-block\na h/n/l labels\nb ?/n/? labels\n");
  const std::string cks = " backend.coreweave.cloud/";
  EXPECT_EQ(text_of(map_of({"a" + cks + "fabric=f" + cks + "superpod=s" + cks +
                            "leafgroup=l ds.coreweave.com/nvlink.domain=n"})),
            "fabric superpod leafgroup nvlink\na f/s/l/n labels\n");
}

TEST(K8sLabels, RegionsAndZonesStandOutside) {
  const std::string zone = " topology.kubernetes.io/zone=";
  const std::string region = " topology.kubernetes.io/region=";
  EXPECT_EQ(text_of(map_of({"a" + region + "r" + zone + "z1 fabric.topograph.run/tier-0=l0",
                            "b" + region + "r" + zone + "z1 fabric.topograph.run/tier-0=l1",
                            "c" + region + "r" + zone + "z2 fabric.topograph.run/tier-0=l2"})),
            "region zone leaf\na r/z1/l0 labels\nb r/z1/l1 labels\nc r/z2/l2 labels\n");
  EXPECT_EQ(text_of(map_of({"a failure-domain.beta.kubernetes.io/zone=z" + zone + "y",
                            "b failure-domain.beta.kubernetes.io/zone=z"})),
            "zone\na y labels\n");
  EXPECT_EQ(text_of(map_of({"a failure-domain.beta.kubernetes.io/zone=z"})), "zone\na z labels\n");
}

TEST(K8sLabels, OneNvlinkDomainUnderSeveralNames) {
  EXPECT_EQ(text_of(map_of({"a nvidia.com/gpu.clique=u.1 accelerator.topograph.run/domain=u",
                            "b nvidia.com/gpu.clique=u.1 accelerator.topograph.run/domain=u",
                            "c nvidia.com/gpu.clique=v.1 accelerator.topograph.run/domain=v"})),
            "nvlink\na u labels\nb u labels\nc v labels\n");
}

TEST(K8sLabels, ThoseThatContradictEachOtherAreNamed) {
  const auto map = map_of({"a fabric.topograph.run/tier-0=l0 nvidia.com/gpu.clique=u.1",
                           "b fabric.topograph.run/tier-0=l0 nvidia.com/gpu.clique=u.2",
                           "c fabric.topograph.run/tier-0=l1 nvidia.com/gpu.clique=u.2"});
  ASSERT_TRUE(map);
  EXPECT_EQ(map->levels, std::vector<std::string>{"leaf"});
  ASSERT_EQ(map->warnings.size(), 1u);
  EXPECT_TRUE(map->warnings[0].starts_with(
      "k8s: labels: topograph and gpu.clique contradict each other: a and b share leaf l0"))
      << map->warnings[0];
}

TEST(K8sLabels, TheSitesOwn) {
  EXPECT_EQ(text_of(map_of({"a x.org/room=r x.org/row=1 topology.kubernetes.io/zone=z"},
                           {"x.org/room", "x.org/row"})),
            "room row\na r/1 labels\n");
}

TEST(K8sLabels, OnesThatTellNothing) {
  EXPECT_EQ(text_of(map_of({"a kubernetes.io/arch=arm64", "b topology.kubernetes.io/zone="})),
            "\n");
  EXPECT_EQ(text_of(map_of({"a fabric.topograph.run/tier-16=l fabric.topograph.run/tier-x=y"})),
            "\n");
  EXPECT_EQ(text_of(map_of({"a x=y", "a x=y"})),
            "error: labels: node a appears twice, first at labels; remove one of "
            "the two");
}

TEST(K8sLabels, AreInjectedInTwoForms) {
  const std::string zone = "topology.kubernetes.io/zone";
  const std::vector<std::pair<std::string, std::string>> rows = {
      {zone + "=z1,kubernetes.io/os=linux", "z1"},
      {zone + "=\"z1\"\r\npod-template-hash=\"5f\"\n", "z1"},
      {zone + "=", ""},
      {zone, "error: '" + zone + "' is not a label; write KEY=VALUE,KEY=VALUE"},
      {zone + "=\"a\\\"b\"",
       "error: '" + zone + "=\"a\\\"b\"' is not a label; write KEY=VALUE,KEY=VALUE"},
  };
  for (const auto& [text, expected] : rows) {
    const auto labels = parse_injected_labels(text);
    const std::string got = labels ? labels->at(zone) : "error: " + labels.error().line();
    EXPECT_EQ(got, expected);
  }
}

TEST(K8sLabels, AreLookedForInTheEnvironmentThenInTheFile) {
  const TemporaryFolder folder;
  fs::create_directories(folder.path() / "etc/podinfo");
  std::ofstream(folder.path() / "etc/podinfo/labels")
      << "app=\"x\"\ntopology.kubernetes.io/zone=\"z\"\n";
  std::ofstream(folder.path() / "own") << "nvidia.com/gpu.clique=\"u.1\"\n";
  EXPECT_EQ(injected_labels({}, folder.path()), "topology.kubernetes.io/zone=\"z\"\n");
  EXPECT_EQ(injected_labels({{"TOPRUN_NODE_LABELS_FILE", "/own"}}, folder.path()),
            "nvidia.com/gpu.clique=\"u.1\"\n");
  EXPECT_EQ(
      injected_labels({{"TOPRUN_NODE_LABELS", "a=b,nvidia.com/gpu.clique=v.1"}}, folder.path()),
      "nvidia.com/gpu.clique=v.1\n");
  EXPECT_FALSE(injected_labels({{"TOPRUN_NODE_LABELS", "a=b"}}, folder.path()));
  EXPECT_FALSE(injected_labels({{"TOPRUN_NODE_LABELS_FILE", "/none"}}, folder.path()));
}

TEST(K8sLabels, APodIsWhereItsNodeIs) {
  std::vector<Member> members = {{"pod-0", "", ""}, {"pod-1", "", ""}, {"n2", "", ""}};
  members[0].node = "N1.example.org";
  members[1].node = "n1";
  const auto nodes = nodes_of({node("n1 a=b"), node("n2 a=c"), node("n3 a=d")}, members);
  ASSERT_EQ(nodes.size(), 2u);  // two names match one node, and only the exact match is certain
  EXPECT_EQ(nodes[0].name, "pod-1");
  EXPECT_EQ(nodes[1].name, "n2");
  members[0].node = "n1";
  EXPECT_EQ(nodes_of({node("n1 a=b"), node("n2 a=c")}, members).size(), 3u);
  EXPECT_EQ(nodes_of({node("n1 a=b"), node("n2 a=c")}, {}).size(), 2u);
}

}  // namespace
}  // namespace toprun::topology
