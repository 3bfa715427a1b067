#include "decide/topology/nvlink.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "base/os/os_testing.h"

namespace toprun::topology {
namespace {

std::string parsed_nvlink(std::string_view text) {
  const auto domain = parse_nvlink_csv(text);
  if (!domain) return "error: " + domain.error().line();
  return *domain ? (*domain)->name() : "none";
}

TEST(Nvlink, ReadsADomain) {
  const std::string a = "8b7b1c2d-0000-4a5b-9c8d-1234567890ab, 1\n";
  const std::string name = "8b7b1c2d-0000-4a5b-9c8d-1234567890ab.1";
  const std::vector<std::pair<std::string, std::string>> rows = {
      {a, name},
      {a + a + a + a, name},
      {"fabric.clusterUuid, fabric.cliqueId\r\n8B7B1C2D-0000-4A5B-9C8D-1234567890AB, 1\r\n", name},
      {"N/A, N/A\n[N/A], [N/A]\n", "none"},
      {"[Not Supported], [Not Supported]\n", "none"},
      {"00000000-0000-0000-0000-000000000000, 0\n", "none"},
      {"", "none"},
  };
  for (const auto& [text, expected] : rows) EXPECT_EQ(parsed_nvlink(text), expected) << text;
}

TEST(Nvlink, RefusesWhatItCannotBelieve) {
  const std::string a = "8b7b1c2d-0000-4a5b-9c8d-1234567890ab, 1\n";
  const std::vector<std::pair<std::string, std::string>> rows = {
      {a + a + "8b7b1c2d-0000-4a5b-9c8d-1234567890ab, 2\n",
       "error: GPU 0 is in the NVLink domain 8b7b1c2d-0000-4a5b-9c8d-1234567890ab.1, but GPU 2 is "
       "in the domain 8b7b1c2d-0000-4a5b-9c8d-1234567890ab.2: "},
      {"N/A, N/A\n" + a,
       "error: GPU 0 is in the NVLink domain no domain, but GPU 1 is in the domain 8b7b1c2d-"},
      {"Field \"fabric.clusterUuid\" is not a valid field to query.\n",
       "error: cannot read the output of `nvidia-smi "
       "--query-gpu=fabric.clusterUuid,fabric.cliqueId`: "
       "the output contains the line 'Field"},
      {"8b7b1c2d-0000-4a5b-9c8d-1234567890ab\n", "error: cannot read"},
      {"8b7b1c2d-0000-4a5b-9c8d-1234567890ab, -1\n", "error: cannot read"},
      {"8b7b1c2d-0000-4a5b-9c8d-1234567890ab, 4294967296\n", "error: cannot read"},
      {"8b7b1c2d, 1\n", "error: cannot read"},
  };
  for (const auto& [text, expected] : rows) {
    EXPECT_EQ(parsed_nvlink(text).find(expected), 0u) << text << parsed_nvlink(text);
  }
}

TEST(Nvlink, IsLookedForWhereTheDriverHasChannels) {
  const TemporaryFolder folder;
  std::filesystem::create_directories(folder.path() / "proc");
  EXPECT_FALSE(may_have_nvlink_domain(folder.path()));
  std::ofstream(folder.path() / "proc/devices") << "Character devices:\n195 nvidia\n";
  EXPECT_FALSE(may_have_nvlink_domain(folder.path()));
  std::ofstream(folder.path() / "proc/devices") << "234 nvidia-caps-imex-channels\n";
  EXPECT_TRUE(may_have_nvlink_domain(folder.path()));
  const TemporaryFolder other;
  std::filesystem::create_directories(other.path() / "dev/nvidia-caps-imex-channels");
  EXPECT_TRUE(may_have_nvlink_domain(other.path()));
}

}  // namespace
}  // namespace toprun::topology
