#include <gtest/gtest.h>

#include "decide/topology/cloud/cloud.h"
#include "decide/topology/topology_testing.h"

namespace toprun::topology {
namespace {

std::string place_text(std::string_view text) {
  const auto place = parse_oci_rdma_topology(text);
  if (!place) return "error: " + place.error();
  std::string out;
  for (const auto& domain : *place) out += "/" + domain.value_or("?");
  return out;
}

TEST(OciRdmaTopology, NamesTheDomains) {
  const std::vector<std::pair<std::string, std::string>> rows = {
      {R"({"customerHPCIslandId":"i","customerNetworkBlock":"n","customerLocalBlock":"l",
           "customerHostId":"h","customerGpuMemoryFabric":"g"})",
       "/i/n/l/g"},
      {R"({"customerHPCIslandId":"ocid1.hpcisland.oc1.iad.aaa","customerNetworkBlock":"n",
           "customerLocalBlock":"l","customerHostId":"h"})",
       "/ocid1.hpcisland.oc1.iad.aaa/n/l/?"},
      {R"({"customerHPCIslandId":null,"customerNetworkBlock":"","customerLocalBlock":"l"})",
       "/?/?/l/?"},
      {R"({"CustomerHpcIslandId":"i","customerlocalblock":"l"})", "/i/?/l/?"},
      {R"({"customerLocalBlock":"l","new":[{"deep":1}]})", "/?/?/l/?"},
      {"{}", "error: it does not name a domain"},
      {R"({"customerHostId":"h"})", "error: it does not name a domain"},
      {R"({"customerLocalBlock":7})", "error: customerLocalBlock is not a string"},
      {R"({"customerLocalBlock":["l"]})", "error: customerLocalBlock is not a string"},
      {R"({"customerLocalBlock":"a b"})", "error: customerLocalBlock is not an id"},
      {R"({"customerLocalBlock":"a\u0000"})", "error: customerLocalBlock is not an id"},
      {R"({"customerLocalBlock":"l")", "error: it is not a JSON object"},
      {R"(["customerLocalBlock"])", "error: it is not a JSON object"},
      {"", "error: it is not a JSON object"},
      {"null", "error: it is not a JSON object"},
      {"<html></html>", "error: it is not a JSON object"},
      {"\xff\xfe{}", "error: it is not a JSON object"},
  };
  for (const auto& [text, expected] : rows) EXPECT_EQ(place_text(text), expected) << text;
}

TEST(OciRdmaTopology, RefusesWhatIsHugeOrDeep) {
  EXPECT_EQ(place_text(std::string(4000, '[')), "error: it is not a JSON object");
  EXPECT_EQ(place_text("{\"customerLocalBlock\":\"" + std::string(4000, 'x') + "\"}"),
            "error: customerLocalBlock is not an id");
  EXPECT_EQ(place_text(std::string(1u << 20, ' ') + "{}"), "error: it is longer than 4096 bytes");
}

TEST(Oci, PutsMembersWhereTheyAre) {
  const auto member = [](const char* name, const char* text) {
    return Member{name, "", "", CloudEvidence{"oci", text, ""}};
  };
  Request request{"auto",
                  {member("n0", R"({"customerHPCIslandId":"i","customerNetworkBlock":"n",
                                    "customerLocalBlock":"l"})"),
                   member("n1", R"({"customerLocalBlock":"m"})"),
                   member("n2", "no"),
                   {"n3", "", "", CloudEvidence{"oci", {}, "it answered 500"}}},
                  {}};
  auto map = read_oci(request);
  ASSERT_TRUE(map && *map);
  EXPECT_EQ(text_of(**map),
            "hpc-island network-block local-block\nn0 i/n/l rdmaTopologyData\n"
            "n1 ?/?/m rdmaTopologyData\n");
  EXPECT_EQ((*map)->warnings,
            (std::vector<std::string>{
                "n3: rdmaTopologyData is not known: it answered 500",
                "rdmaTopologyData of n2 is malformed and ignored: it is not a JSON object"}));
  request.members.push_back(
      member("n4", R"({"customerLocalBlock":"m","customerGpuMemoryFabric":"g"})"));
  map = read_oci(request);
  EXPECT_EQ((*map)->levels,
            (std::vector<std::string>{"hpc-island", "network-block", "local-block", "nvlink"}));
  EXPECT_EQ((*map)->hosts[2].location.path, (Path{{}, {}, "m", "g"}));
  EXPECT_EQ((*map)->hosts[1].location.path, (Path{{}, {}, "m", {}}));
}

}  // namespace
}  // namespace toprun::topology
