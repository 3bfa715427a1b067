#include <gtest/gtest.h>

#include "decide/topology/files/data_tree.h"
#include "decide/topology/files/formats.h"
#include "decide/topology/topology_testing.h"

namespace toprun::topology {
namespace {

std::string parsed_json(std::string_view text) {
  return text_of(parse_json_file(text, "t"));
}

TEST(JsonFile, ReadsEveryForm) {
  const std::vector<std::pair<std::string, std::string>> rows = {
      // Our own form.
      {R"({"levels": ["pod", "leaf"], "hosts": {"n0": "/c/b", "n[1-2]": ["c", ""]}})",
       "pod leaf\nn0 c/b t:1\nn1 c/? t:1\nn2 c/? t:1\n"},
      {"{\"domains\": {\n \"c\": {\"b\": \"n[5-6]\",\n \"a\": [\"n7\"]}}}",
       "cluster rack\nn5 c/b t:2\nn6 c/b t:2\nn7 c/a t:3\n"},
      // topograph: the leaf comes first.
      {"{\"instances\":[{\"id\":\"n0\",\"network_layers\":[\"l0\",\"s0\",\"c\"]},\n"
       "{\"id\":\"n1\",\"network_layers\":[\"l1\",\"s0\",\"c\"],\"labels\":{}}]}",
       "core spine leaf\nn0 c/s0/l0 t:1\nn1 c/s0/l1 t:2\n"},
      {R"({"instances":[
 {"id":"n0","network_layers":["l0"],"labels":{"accelerator.topograph.run/domain":"d0"}},
 {"id":"n1","network_layers":["l0"],"labels":{"nvidia.com/gpu.clique":"d1.1"}},
 {"id":"n2","network_layers":["l1"],"attributes":{"nvlink":"d2"}},
 {"id":"n3","network_layers":["l1"]}]})",
       "leaf nvlink\nn0 l0/d0 t:2\nn1 l0/d1.1 t:3\nn2 l1/d2 t:4\nn3 l1/? t:5\n"},
      // Lambda: the leaf comes first.
      {R"({"data":[{"id":"n0","networkPath":[{"id":"l0"},{"id":"s0"}],
 "nvlink":{"domain_id":"u","clique_id":"3"}},{"id":"n1","networkPath":["l1","s0"]}]})",
       "spine leaf nvlink\nn0 s0/l0/u.3 t:1\nn1 s0/l1/? t:2\n"},
      // Nscale: the root comes first.
      {R"({"results":[{"instance_id":"n0","network_node_path":["c","s","l"],"block_id":"b0"}]})",
       "core spine leaf nvlink\nn0 c/s/l/b0 t:1\n"},
      {R"([{"instance_id":"n0","network_node_path":["s","l"],"block_id":null}])",
       "spine leaf\nn0 s/l t:1\n"},
      // Nebius: the root comes first.
      {R"({"items":[{"metadata":{"id":"i-0","name":"n0"},
 "status":{"infiniband_topology_path":{"path":["c","s","l"]}}},
 {"metadata":{"id":"i-1"},"status":{"infinibandTopologyPath":{"path":["c","s","m"]}}}]})",
       "core spine leaf\nn0 c/s/l t:1\ni-1 c/s/m t:3\n"},
      // Places that are completely or partly unknown.
      {R"({"instances":[{"id":"n0","network_layers":["l0","s0"]},{"id":"n1","network_layers":["l1"]},
 {"id":"n2","network_layers":null},{"id":"n3","network_layers":["","s0"]}]})",
       "spine leaf\nn0 s0/l0 t:1\nn1 ?/l1 t:1\nn2 ?/? t:2\nn3 s0/? t:2\n"},
  };
  for (const auto& [text, expected] : rows) EXPECT_EQ(parsed_json(text), expected) << text;
}

TEST(JsonFile, WarnsAndGoesOn) {
  const std::vector<std::pair<std::string, std::string>> rows = {
      {"{\"colour\": 1,\n \"hosts\": {\"n0\": \"/r\"}}",
       "t:1:2: unknown key 'colour' is ignored; known are levels, hosts, domains and links"},
      {R"({"data":[{"id":"n0","networkPath":["l0"]}],"page_token":"abc"})",
       "t: the answer has several pages, but this file contains only one page"},
      {R"([{"instance_id":"n0","network_node_path":["l0"],"block_id":"b"},
 {"instance_id":"n1","network_node_path":["l1"],"block_id":"b"}])",
       "t:2: n0 and n1 are in the NVLink domain b but on different switches, so they count as "
       "apart"},
  };
  for (const auto& [text, expected] : rows) {
    const auto map = parse_json_file(text, "t");
    ASSERT_TRUE(map) << text << map.error().line();
    EXPECT_EQ(map->warnings, std::vector<std::string>{expected}) << text;
  }
}

TEST(JsonFile, RefusesWithThePlace) {
  const std::vector<std::pair<std::string, std::string>> rows = {
      {"{\"hosts\": {\"n0\": \"/c/b\",\n  \"n0\": \"/c/a\"}}",
       "t:2:3: n0 appears twice, first at 1:12"},
      {"{\"hosts\": {\"n0\": \"/c/b\",\n  \"n[0-1]\": \"/c/a\"}}",
       "t:2:3: host n0 appears twice, first at t:1"},
      {"{\"hosts\": {\"n0\": 7}}", "t:1:18: a host's path must be a string"},
      {"{\"hosts\": {\"n0\": 17\n}}", "t:1:18: a host's path must be a string"},
      {"{\"hosts\": []}", "t:1:11: hosts must be a table"},
      {"{\"hosts\": {\"n[0-999999999]\": \"/r\"}}", "column 3: the range 0-999999999"},
      {"{\"hosts\": {\"n0\": \"/r\"}",
       "t:1:22: this is not JSON: syntax error while parsing object - unexpected end"},
      {"{\"hosts\": {\"n0\": nope}}", "t:1:19: this is not JSON: "},
      {"{} x", "t:1:4: this is not JSON: "},
      {"{\"Instances\": []}",
       "t:1:1: this JSON has an unknown form; the known forms are toprun's own (hosts, domains, "},
      {"{\"levels\": [\"a\"],\n \"host\": {\"n0\": \"/r\"}}",
       "t:2:2: unknown key 'host'; did you mean hosts?"},
      {"[]", "t:1:1: this JSON has an unknown form"},
      {"{\"instances\":[{\"name\":\"n0\"}]}", "t:1:1: this JSON has an unknown form"},
      {R"({"instances":[{"id":"n0","network_layers":["a"]},{"id":"n0","network_layers":["b"]}]})",
       "t:1:56: host n0 appears twice, first at t:1"},
      {R"({"instances":[{"id":"n0","network_layers":"a"}]})",
       "t:1:43: a path must be a list of at most 16 switches; the first instance has topograph's "
       "graph"},
      {R"({"instances":[{"network_layers":["a"]}]})", "t:1:15: an instance has no name"},
      {R"({"instances":[{"id":"n0","network_layers":["a"]}, 4]})", "this is not an instance"},
      {R"({"data":[{"id":"n0","networkPath":[["a"]]}]})", "t:1:36: a switch must be a name"},
      {R"({"instances":[{"id":"n0","network_layers":[1,2,3,4,5,6,7,8,9,1,2,3,4,5,6,7,8]}]})",
       "a path must be a list of at most 16 switches"},
      {std::string("\xff\xfe{\0", 4), "t:1:1: this is not JSON"},
  };
  for (const auto& [text, expected] : rows) {
    const std::string outcome = parsed_json(text);
    EXPECT_EQ(outcome.find("error: t:"), 0u) << text << outcome;
    EXPECT_NE(outcome.find(expected), std::string::npos) << text << outcome;
  }
}

TEST(JsonFile, BoundsDepthAndSize) {
  EXPECT_EQ(parsed_json(std::string(1'000'000, '[')), "error: t:1:33: nested more than 32 deep");
  EXPECT_EQ(parsed_json(std::string(max_json_bytes + 1, ' ')),
            "error: t: the file has more than 67108864 bytes of JSON; write host lists such as "
            "n[0-99] instead "
            "of single names");
}

TEST(JsonFile, ReadsWhatToprunPrints) {
  const auto read = [](std::string_view text) { return text_of(parse_json_file(text, "t")); };
  EXPECT_EQ(read(R"({"schema": "toprun.topo_order/1", "levels": ["core", "leaf"], "order": ["n0"],
"nodes": [{"name": "n0", "path": ["c", null], "has_no": ["leaf"], "first_rank": 0},
{"name": "n1", "path": [null, "s"], "seat": 7}]})"),
            "core leaf\nn0 c/- t:2\nn1 ?/s t:3\n");
  EXPECT_EQ(
      read(R"({"schema": "toprun.topo_show/1", "levels": ["core", "spine", "leaf"], "domains": [
{"level": "core", "name": "c", "nodes": 3, "domains": [
{"level": "leaf", "name": "s0", "nodes": 1, "hosts": ["n0"]},
{"level": "spine", "name": null, "nodes": 1, "domains": [
{"level": "leaf", "name": "s1", "nodes": 1, "hosts": ["n1"]}]},
{"level": "spine", "name": "p", "nodes": 1, "hosts": ["n2"]}]}], "unplaced": ["x"]})"),
      "core spine leaf\nn0 c/-/s0 t:3\nn1 c/?/s1 t:5\nn2 c/p/? t:6\nx ?/?/? t:6\n");
  EXPECT_EQ(read(R"({"n0": "c/a", "n1": "c/b"})"), "cluster rack\nn0 c/a t:1\nn1 c/b t:1\n");
  const std::vector<std::pair<std::string, std::string>> rows = {
      {R"({"schema": "toprun.bench/1"})",
       "t:1:1: an object of toprun.bench/1 does not say where hosts are"},
      {R"({"schema": "toprun.topo_order/1", "levels": ["a"], "nodes": [{"name": "n", "path": []}]})",
       "a node must have a name, and a path with as many entries as levels"},
      {R"({"schema": "toprun.topo_show/1", "levels": ["a"], "domains": [{"level": "b"}]})",
       "there is no level 'b'; choose one of: a"},
      {R"({"schema": "toprun.topo_show/1", "levels": ["a"], "domains": [{"level": "a", "name": "x",
"domains": [{"level": "a", "name": "y", "hosts": ["n"]}]}]})",
       "a level is inside itself"},
      {R"({"schema": "toprun.topo_show/1", "levels": ["a"], "domains": [], "unplaced": [[]]})",
       "expected the name of a host"},
  };
  for (const auto& [text, expected] : rows) {
    const std::string outcome = read(text);
    EXPECT_TRUE(outcome.contains(expected)) << text << "\n" << outcome;
  }
}

}  // namespace
}  // namespace toprun::topology
