#include "engines/kubernetes/admission.h"

#include <gtest/gtest.h>

namespace toprun::engines::kubernetes {
namespace {

TEST(Admission, ANamespaceSaysHowRestrictedItsPodsAre) {
  const auto with = [](const char* labels) {
    return std::string(R"({"kind": "Namespace", "metadata": {"labels": )") + labels + "}}";
  };
  EXPECT_TRUE(is_restricted(with(R"({"pod-security.kubernetes.io/enforce": "restricted"})")));
  EXPECT_FALSE(is_restricted(with(R"({"pod-security.kubernetes.io/enforce": "baseline"})")));
  EXPECT_FALSE(is_restricted(with(R"({"pod-security.kubernetes.io/warn": "restricted"})")));
  EXPECT_FALSE(is_restricted(with("{}")));
  EXPECT_FALSE(is_restricted(""));
}

TEST(Admission, AJobSetOfATrainJobIsNoJobOfItsOwn) {
  EXPECT_TRUE(is_ones_own(R"({"metadata": {"name": "a"}})"));
  EXPECT_TRUE(is_ones_own(R"({"metadata": {"name": "a", "ownerReferences": []}})"));
  EXPECT_FALSE(
      is_ones_own(R"({"metadata": {"name": "a", "ownerReferences": [{"kind": "TrainJob"}]}})"));
  EXPECT_FALSE(is_ones_own(""));
  EXPECT_FALSE(is_ones_own("{}"));
}

}  // namespace
}  // namespace toprun::engines::kubernetes
