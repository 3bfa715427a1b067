#include "engines/kubernetes/operators.h"

#include <gtest/gtest.h>

namespace toprun::engines::kubernetes {
namespace {

TEST(Operators, ThoseThatTheClusterHasInOurOrder) {
  using Operators = std::vector<Operator>;
  for (const auto& [printed, which] : std::vector<std::pair<const char*, Operators>>{
           {"jobsets.jobset.x-k8s.io\npods\npytorchjobs.kubeflow.org\n",
            {Operator::pytorchjob, Operator::jobset}},
           {"jobsets.jobset.x-k8s.io\ntrainjobs.trainer.kubeflow.org\n",
            {Operator::trainjob, Operator::jobset}},
           {"jobs.batch\njobsets.jobset.x-k8s.io\r\n", {Operator::jobset}},
           {"mypytorchjobs.kubeflow.org\npytorchjobs.kubeflow.org.example.com\n", {}},
           {"", {}}}) {
    EXPECT_EQ(installed(printed), which) << printed;
  }
}

TEST(Operators, AreKnownByTheirKinds) {
  EXPECT_EQ(kind_of(Operator::pytorchjob), "PyTorchJob");
  EXPECT_EQ(kind_of(Operator::trainjob), "TrainJob");
  EXPECT_EQ(kind_of(Operator::jobset), "JobSet");
}

}  // namespace
}  // namespace toprun::engines::kubernetes
