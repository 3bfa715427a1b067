#include <gtest/gtest.h>

#include "engines/kubernetes/admission.h"

namespace toprun::engines::kubernetes {
namespace {

TEST(NodeAccess, IsForPodsOfSeveralNodes) {
  Workload job;
  EXPECT_TRUE(node_access(job).empty());
  job.nodes = 2;
  job.space = "ml";
  const auto lines = node_access(job);
  ASSERT_EQ(lines.size(), 3u);
  EXPECT_EQ(lines[1],
            "kubectl create clusterrole toprun-topology --verb=get,list --resource=nodes");
  EXPECT_EQ(lines[2],
            "kubectl create clusterrolebinding toprun-topology-ml --clusterrole=toprun-topology "
            "--serviceaccount=ml:default");
  job.service_account = "trainer";
  EXPECT_TRUE(node_access(job)[2].ends_with("--serviceaccount=ml:trainer"));
}

}  // namespace
}  // namespace toprun::engines::kubernetes
