#include "decide/topology/api_server.h"

#include <gtest/gtest.h>

#include <fstream>

#include "base/os/os_testing.h"

namespace toprun::topology {
namespace {

struct Mounted {
  std::string token, authorities;
};

std::optional<PodAccess> access_with(const Environment& environment, const Mounted& mounted) {
  const TemporaryFolder folder;
  const auto put = [&](const char* name, const std::string& text) {
    if (!text.empty()) std::ofstream(folder.path() / name) << text;
  };
  put("token", mounted.token);
  put("ca.crt", mounted.authorities);
  return pod_access(environment, folder.path());
}

TEST(PodAccess, IsWhatTheKubeletMountsAndSets) {
  const auto access =
      access_with({{"KUBERNETES_SERVICE_HOST", "10.96.0.1"}, {"KUBERNETES_SERVICE_PORT", "6443"}},
                  {"a.b-c\n", "pem"});
  ASSERT_TRUE(access);
  EXPECT_EQ(access->host, "10.96.0.1");
  EXPECT_EQ(access->port, 6443);
  EXPECT_EQ(access->token, "a.b-c");
  EXPECT_EQ(access->authorities, "pem");
}

TEST(PodAccess, ThePortIsThatOfHttpsWhereItIsNotTold) {
  for (const char* port : {"", "x", "0", "65536", "tcp://10.0.0.1:443"}) {
    const auto access = access_with(
        {{"KUBERNETES_SERVICE_HOST", "10.96.0.1"}, {"KUBERNETES_SERVICE_PORT", port}}, {"t", "c"});
    ASSERT_TRUE(access) << port;
    EXPECT_EQ(access->port, 443) << port;
  }
}

TEST(PodAccess, NeedsAllOfIt) {
  const Environment pod{{"KUBERNETES_SERVICE_HOST", "10.96.0.1"}};
  EXPECT_FALSE(access_with({}, {"t", "c"}));
  EXPECT_FALSE(access_with(pod, {"", "c"}));
  EXPECT_FALSE(access_with(pod, {"t", ""}));
  EXPECT_FALSE(access_with(pod, {"\n", "c"}));
  EXPECT_FALSE(access_with(pod, {"a b", "c"}));
  EXPECT_FALSE(access_with(pod, {"a\r\nX-Remote-User: b", "c"}));
}

TEST(ApiServer, IsNamedAsInAnAddress) {
  EXPECT_EQ(ApiServer({"10.96.0.1", 443, "t", "c"}, {}).what("/api"),
            "GET https://10.96.0.1:443/api");
  EXPECT_EQ(ApiServer({"fd00::1", 6443, "t", "c"}, {}).what("/api"),
            "GET https://[fd00::1]:6443/api");
}

}  // namespace
}  // namespace toprun::topology
