#include "engines/kubernetes/api.h"

#include <gtest/gtest.h>

namespace toprun::engines::kubernetes {
namespace {

TEST(KubernetesApi, ValuesOfAQueryAreEscaped) {
  EXPECT_EQ(escaped("a-b.c_d~9"), "a-b.c_d~9");
  EXPECT_EQ(escaped("x in (a,b)&c=%"), "x%20in%20%28a%2Cb%29%26c%3D%25");
  EXPECT_EQ(escaped("\xc3"), "%C3");
}

TEST(KubernetesApi, RefusalsAreToldApart) {
  EXPECT_TRUE(
      says_forbidden("Error from server (Forbidden): jobsets.jobset.x-k8s.io is forbidden"));
  EXPECT_FALSE(says_forbidden("Error from server (NotFound): a"));
  EXPECT_TRUE(says_not_found("Error from server (NotFound): jobsets \"a\" not found"));
  EXPECT_TRUE(says_not_found("the server could not find the requested resource"));
  EXPECT_FALSE(says_not_found("Unable to connect to the server: dial tcp: no such host"));
}

}  // namespace
}  // namespace toprun::engines::kubernetes
