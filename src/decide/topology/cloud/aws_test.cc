#include <gtest/gtest.h>

#include "decide/topology/cloud/cloud.h"
#include "decide/topology/topology_testing.h"

namespace toprun::topology {
namespace {

std::string parsed_aws(std::string_view text) {
  return text_with_warnings(parse_aws_topology(text, "t"));
}

constexpr std::string_view printed = R"({
    "Instances": [
        {
            "InstanceId": "i-1111",
            "InstanceType": "p5en.48xlarge",
            "GroupName": "g",
            "NetworkNodes": ["nn-top", "nn-mid", "nn-leaf1"],
            "CapacityBlockId": null,
            "AvailabilityZone": "us-west-2b",
            "ZoneId": "usw2-az2"
        },
        {
            "InstanceId": "i-2222",
            "NetworkNodes": ["nn-top", "nn-mid", "nn-leaf2"],
            "CapacityBlockId": "null",
            "ZoneId": "usw2-az2",
            "AvailabilityZone": "us-west-2b"
        }
    ]
})";

TEST(AwsTopology, ReadsWhatTheCommandPrints) {
  EXPECT_EQ(parsed_aws(printed),
            "zone core spine leaf\n"
            "i-1111 usw2-az2/nn-top/nn-mid/nn-leaf1 t: Instances[0]\n"
            "i-2222 usw2-az2/nn-top/nn-mid/nn-leaf2 t: Instances[1]\n");
}

// A short form for tests: adds {"Instances":[…]}, and replaces iN with `"InstanceId":"i-N"`.
std::string of(std::string instances) {
  for (const char* id : {"i0", "i1", "i2"}) {
    for (std::size_t at = 0; (at = instances.find(id, at)) != std::string::npos; at += 18) {
      instances.replace(at, 2, std::string("\"InstanceId\":\"i-") + id[1] + '"');
    }
  }
  return "{\"Instances\":[" + instances + "]}";
}

TEST(AwsTopology, ReadsEveryShape) {
  const std::vector<std::pair<std::string, std::string>> rows = {
      {of(R"({i0,"NetworkNodes":["a","b","c","d"]},{i1,"NetworkNodes":["x","y","z"]})"),
       "level3 core spine leaf\ni-0 a/b/c/d t: Instances[0]\ni-1 ?/x/y/z t: Instances[1]\n"},
      {of(R"({i0,"NetworkNodes":["a"]})"), "leaf\ni-0 a t: Instances[0]\n"},
      {of(R"({i0,"NetworkNodes":["a","b"],"CapacityBlockId":"cb"},
             {i1,"NetworkNodes":["a","b"],"CapacityBlockId":null})"),
       "spine leaf nvlink\ni-0 a/b/cb t: Instances[0]\ni-1 a/b/? t: Instances[1]\n"},
      {of(R"({i0,"AvailabilityZone":"z"},{i1,"NetworkNodes":null},{i2,"NetworkNodes":[]})"),
       "zone\ni-0 z t: Instances[0]\ni-1 ? t: Instances[1]\ni-2 ? t: Instances[2]\n"},
      {of(R"({"CapacityBlockId":"cb",i0})"), "nvlink\ni-0 cb t: Instances[0]\n"},
      {of(""), "\n"},
      {R"({"NextToken":null,"Instances":[],"NextToken":""})", "\n"},
      {R"({"NextToken":"more","Instances":[]})",
       "\nt: NextToken says that there are more instances than the file contains\n"},
      {of(R"({i0,"Tags":[{"Key":["InstanceId"]}],"Cores":8,"NetworkNodes":["a"]})"),
       "leaf\ni-0 a t: Instances[0]\nt: unknown keys are ignored: Cores, Tags\n"},
      {R"({"Meta":{"Instances":[1]},"Instances":[]})", "\nt: unknown keys are ignored: Meta\n"},
  };
  for (const auto& [text, expected] : rows) EXPECT_EQ(parsed_aws(text), expected) << text;
}

TEST(AwsTopology, RefusesWithThePlace) {
  const std::vector<std::pair<std::string, std::string>> rows = {
      {"", "t:1:1: this is not JSON"},
      {"{\n \"Instances\": [}", "t:2:16: this is not JSON"},
      {"{\"Instances\":[]} x", "t:1:18: this is not JSON"},
      {"{\"Instances\":[]", "t:1:16: this is not JSON"},
      {"{\"Instances\":[{\"InstanceId\":\"\xff\"}]}", "t:1:30: this is not JSON"},
      {"[]", "t: this is not a JSON object with \"Instances\""},
      {"7", "t: this is not a JSON object with \"Instances\""},
      {R"({"Instances":{}})", "t: Instances: it is not a list"},
      {R"({"Instances":null})", "t: Instances: it is not a list"},
      {R"({"Instances":["i-1"]})", "t: Instances[0]: it is not an object"},
      {R"({"Instances":[[]]})", "t: Instances[0]: it is not an object"},
      {of(R"({})"), "t: Instances[0]: the instance has no InstanceId"},
      {of(R"({i0},{"InstanceId":null})"), "t: Instances[1]: the instance has no InstanceId"},
      {of(R"({i0},{"InstanceId":7})"), "t: Instances[1].InstanceId: it is not a string"},
      {of(R"({"InstanceId":"a b"})"), "t: Instances[0].InstanceId: it is not an id"},
      {of(R"({i0,"ZoneId":{}})"), "t: Instances[0].ZoneId: it is not a string"},
      {of(R"({i0,"NetworkNodes":"a"})"), "t: Instances[0].NetworkNodes: it is not a list"},
      {of(R"({i0,"NetworkNodes":{}})"), "t: Instances[0].NetworkNodes: it is not a list"},
      {of(R"({i0,"NetworkNodes":["a",null]})"),
       "t: Instances[0].NetworkNodes: an entry is not a string"},
      {of(R"({i0,"NetworkNodes":[["a"]]})"),
       "t: Instances[0].NetworkNodes: an entry is not a string"},
      {of(R"({i0,"NetworkNodes":[1,2]})"),
       "t: Instances[0].NetworkNodes: an entry is not a string"},
      {of(R"({i0,"NetworkNodes":[""]})"), "t: Instances[0].NetworkNodes: an entry is not an id"},
      {of(R"({i0,"NetworkNodes":[1e999]})"), "t:1:"},
      {of(R"({i0,"NetworkNodes":["1","2","3","4","5","6","7","8","9","10","11","12","13","14",
                               "15"]})"),
       "t: Instances[0].NetworkNodes: more than 14 entries"},
      {of(R"({i0},{i0})"),
       "t: Instances[1]: host i-0 appears twice, first at t: "
       "Instances[0]"},
  };
  for (const auto& [text, expected] : rows) {
    EXPECT_TRUE(parsed_aws(text).starts_with("error: " + expected)) << text << "\n"
                                                                    << parsed_aws(text);
  }
}

TEST(AwsTopology, HugeAndDeepTextsEndSoon) {
  EXPECT_EQ(parsed_aws(std::string(1u << 20, '{')).substr(0, 9), "error: t:");
  const std::string deep = "{\"x\":" + std::string(1u << 20, '[');
  EXPECT_TRUE(parsed_aws(deep).starts_with("error: t: the JSON is nested deeper than 32 levels"));
  const std::string skipped = R"({"x":[[1,{"Instances":[]}],2],"Instances":[]})";
  EXPECT_EQ(parsed_aws(skipped), "\nt: unknown keys are ignored: x\n");
  EXPECT_EQ(parsed_aws(of("{\"InstanceId\":\"" + std::string(1u << 20, 'i') + "\"}")).substr(0, 45),
            "error: t: Instances[0].InstanceId: it is not ");
}

TEST(AwsTopology, MembersAreTheInstancesThatTheyFoundThemselvesToBe) {
  auto map = parse_aws_topology(printed, "t");
  ASSERT_TRUE(map);
  const std::vector<Member> members = {
      {"n0", "", "", CloudEvidence{"aws", "i-2222\n", ""}},
      {"n1", "", "", CloudEvidence{"aws", "i-1111", ""}},
      {"pod-on-n1", "", "", CloudEvidence{"aws", "i-1111", ""}},
      {"n2", "", "", CloudEvidence{"aws", "i-3333", ""}},
      {"n3", "", "", CloudEvidence{"aws", {}, "refused"}},
      {"n4", "", "", CloudEvidence{"gcp", "i-1111", ""}},
      {"i-1111", "", "", CloudEvidence{"aws", "i-2222", ""}},
      {"n5", "", ""},
  };
  add_members(*map, members);
  std::string text;
  for (const Map::Entry& entry : map->hosts) {
    text += entry.host + " " + *entry.location.path.back() + "\n";
  }
  EXPECT_EQ(text,
            "i-1111 nn-leaf1\ni-2222 nn-leaf2\nn0 nn-leaf2\nn1 nn-leaf1\npod-on-n1 nn-leaf1\n");
}

}  // namespace
}  // namespace toprun::topology
