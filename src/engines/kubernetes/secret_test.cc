#include <gtest/gtest.h>

#include "engines/kubernetes/manifest.h"

namespace toprun::engines::kubernetes {
namespace {

using Json = nlohmann::ordered_json;

TEST(Secret, GoesWithItsOwner) {
  const auto owner = parse_owner(
      R"({"apiVersion": "kubeflow.org/v1", "kind": "PyTorchJob", "metadata": {"name": "a", "uid": "7"}})");
  ASSERT_TRUE(owner);
  Workload job;
  job.own_secret = "toprun-env-1";
  job.space = "ml";
  const Json secret = secret_object(job, {{"A", "1"}, {"B", std::string("\xff\0", 2)}}, &*owner);
  EXPECT_EQ(secret, Json::parse(R"({"apiVersion": "v1", "kind": "Secret",
    "metadata": {"name": "toprun-env-1", "namespace": "ml",
      "labels": {"app.kubernetes.io/managed-by": "toprun"},
      "ownerReferences": [{"apiVersion": "kubeflow.org/v1", "kind": "PyTorchJob", "name": "a",
                           "uid": "7"}]},
    "type": "Opaque", "immutable": true, "data": {"A": "MQ==", "B": "/wA="}})"));
  EXPECT_FALSE(secret_object(job, {}, nullptr)["metadata"].contains("ownerReferences"));
}

TEST(Secret, AnOwnerHasANameAndAUid) {
  for (const char* text : {"", "{}", R"({"metadata": {"name": "a"}})", "pytorchjob/a"}) {
    EXPECT_FALSE(parse_owner(text)) << text;
  }
}

}  // namespace
}  // namespace toprun::engines::kubernetes
