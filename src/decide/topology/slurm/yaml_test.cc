#include "decide/topology/slurm/yaml.h"

#include <gtest/gtest.h>

#include "decide/topology/files/data_tree.h"
#include "decide/topology/topology_testing.h"

namespace toprun::topology {
namespace {

std::string parsed_yaml(std::string_view text) {
  return text_of(parse_slurm_yaml(text, "t.yaml"));
}

TEST(SlurmYaml, ReadsTrees) {
  EXPECT_EQ(parsed_yaml("---\n"
                        "- topology: racks\n"
                        "  cluster_default: true\n"
                        "  tree:\n"
                        "    switches:\n"
                        "    - switch: p0   # the spine\n"
                        "      children: s[0-1]\n"
                        "    - switch: s0\r\n"
                        "      nodes: n[0,4]\n"
                        "    - switch: s1\n"
                        "      nodes: [n1, \"n[5-6]\"]\n"),
            "spine leaf\n"
            "n0 p0/s0 t.yaml:8\nn4 p0/s0 t.yaml:8\nn1 p0/s1 t.yaml:10\nn5 p0/s1 t.yaml:10\n"
            "n6 p0/s1 t.yaml:10\n");
}

TEST(SlurmYaml, ReadsBlocks) {
  EXPECT_EQ(
      parsed_yaml("- topology: b\n  block:\n    block_sizes:\n      - 1\n      - 2\n    blocks:\n"
                  "    - {block: b0, nodes: n0}\n    - {block: b1, nodes: n1}\n"
                  "    - {block: b2, nodes: n2}\n    - {block: phantom}\n"),
      "block2 block\n"
      "n0 b[0-1]/b0 t.yaml:7\nn1 b[0-1]/b1 t.yaml:8\nn2 b2,phantom/b2 t.yaml:9\n");
  EXPECT_EQ(parsed_yaml("- topology: b\n  block: {blocks: [{block: b0, nodes: n0}]}\n"),
            "block\nn0 b0 t.yaml:2\n");
}

// The output form of `scontrol show topoconf` in Slurm 26.05.5.
TEST(SlurmYaml, KindsThatAreEmptyAreNone) {
  const std::string others = "  flat: {}\n  ring: {}\n  torus3d: {}\n";
  EXPECT_EQ(
      parsed_yaml(
          "%YAML 1.1\n---\n- topology: racks\n  cluster_default: true\n  block: {}\n" + others +
          "  tree:\n    switches:\n    - switch: core\n      children: r0,r1\n      nodes:\n"
          "    - switch: r0\n      children:\n      nodes: n0,n2\n"
          "    - switch: r1\n      children:\n      nodes: n1,n3\n...\n"),
      "spine leaf\nn0 core/r0 t.yaml:14\nn2 core/r0 t.yaml:14\nn1 core/r1 t.yaml:17\n"
      "n3 core/r1 t.yaml:17\n");
  EXPECT_EQ(
      parsed_yaml("---\n- topology: blocks\n  cluster_default: true\n  block:\n    block_sizes:\n"
                  "    - 2\n    blocks:\n    - block: r0\n      nodes: n[0,2]\n" +
                  others + "  tree: {}\n...\n"),
      "block\nn0 r0 t.yaml:8\nn2 r0 t.yaml:8\n");
  const auto none = parse_slurm_yaml(
      "---\n- topology: default\n  cluster_default: false\n  block: {}\n" + others + "  tree: {}\n",
      "t.yaml");
  ASSERT_TRUE(none) << none.error().line();
  EXPECT_EQ(none->warnings,
            std::vector<std::string>{
                "t.yaml:2: topology default is empty: it does not say where any host is"});
}

TEST(SlurmYaml, SeveralTopologiesMakeOneTree) {
  const std::string tree =
      "- {topology: a, tree: {switches: [{switch: s0, nodes: \"n[0-3]\"}, {switch: s1, nodes: "
      "\"n[4-5]\"}]}}\n";
  const std::string blocks =
      "- {topology: b, cluster_default: True, block: {blocks: [{block: b0, nodes: \"n[0-1]\"}, "
      "{block: b1, nodes: \"n[2-3]\"}]}}\n";
  const std::string across =
      "- {topology: x, block: {blocks: [{block: x0, nodes: \"n[3-4]\"}, {block: "
      "x1, nodes: \"n[0,5]\"}]}}\n";
  const std::string flat = "- {topology: f, flat: true}\n";
  struct Row {
    std::string text;
    TopologyChoice choice;
    std::string expected, warning;
  };
  const std::vector<Row> rows = {
      {tree + blocks + flat,
       {},
       "leaf block\nn0 s0/b0 t.yaml:2, t.yaml:1\nn1 s0/b0 t.yaml:2, t.yaml:1\n"
       "n2 s0/b1 t.yaml:2, t.yaml:1\nn3 s0/b1 t.yaml:2, t.yaml:1\nn4 s1/? t.yaml:1\n"
       "n5 s1/? t.yaml:1\n",
       ""},
      {tree + blocks,
       {.name = "a"},
       "leaf\nn0 s0 t.yaml:1\nn1 s0 t.yaml:1\nn2 s0 t.yaml:1\n"
       "n3 s0 t.yaml:1\nn4 s1 t.yaml:1\nn5 s1 t.yaml:1\n",
       ""},
      {tree + blocks,
       {.only_default = true},
       "block\nn0 b0 t.yaml:2\nn1 b0 t.yaml:2\n"
       "n2 b1 t.yaml:2\nn3 b1 t.yaml:2\n",
       ""},
      {across + tree,
       {},
       "block\nn3 x0 t.yaml:1\nn4 x0 t.yaml:1\nn0 x1 t.yaml:1\nn5 x1 t.yaml:1\n",
       "t.yaml: x and a contradict each other: n3 and n4 share block x0 (x) but not leaf (a: s0 "
       "and "
       "s1), and n3 and n0 share"},
      {flat, {}, "\n", "t.yaml:1: topology f is flat: it does not say where any host is"},
      {"- topology: t\n  tree: ~\n  block: null\n  flat:\n    alpha_step_rank: true\n",
       {},
       "\n",
       "t.yaml:4: topology t is flat: it does not say where any host is"},
  };
  for (const auto& [text, choice, expected, warning] : rows) {
    const auto map = parse_slurm_yaml(text, "t.yaml", choice);
    ASSERT_TRUE(map) << text << map.error().line();
    EXPECT_EQ(text_of(*map), expected) << text;
    EXPECT_TRUE((map->warnings.empty() ? "" : map->warnings[0]).starts_with(warning))
        << text << (map->warnings.empty() ? "" : map->warnings[0]);
  }
  const auto missing = parse_slurm_yaml(tree + blocks, "t.yaml", {.name = "c"});
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().line(), "t.yaml:1:1: there is no topology c; choose one of: b, a");
}

std::string topology_of_blocks(std::string_view name, std::string_view blocks) {
  return fmt::format("- topology: {}\n  block: {{block_sizes: [2], blocks: [{}]}}\n", name, blocks);
}

// Generators count block1, block2 anew in each topology.
TEST(SlurmYaml, NamesBelongToTheirTopology) {
  EXPECT_EQ(parsed_yaml(topology_of_blocks("a", "{block: block1, nodes: \"n[1,3]\"}") +
                        topology_of_blocks("b",
                                           "{block: block1, nodes: \"n[2,4]\"}, {block: x, "
                                           "nodes: n5}")),
            "block\nn1 block1 t.yaml:2\nn3 block1 t.yaml:2\nn2 b:block1 t.yaml:4\n"
            "n4 b:block1 t.yaml:4\nn5 x t.yaml:4\n");
  // With a host in both it is one block.
  EXPECT_EQ(parsed_yaml(topology_of_blocks("a", "{block: block1, nodes: \"n[1,3]\"}") +
                        topology_of_blocks("b", "{block: block1, nodes: \"n[3,4]\"}")),
            "block\nn1 block1 t.yaml:2\nn3 block1 t.yaml:2, t.yaml:4\nn4 block1 t.yaml:4\n");
}

TEST(SlurmYaml, AllIsEveryKnownHost) {
  const std::string text = "- topology: a\n  tree: {switches: [{switch: s, nodes: ALL}]}\n";
  EXPECT_EQ(text_of(parse_slurm_yaml(text, "t", {}, {"n0", "n1"})), "leaf\nn0 s t:2\nn1 s t:2\n");
  EXPECT_TRUE(parsed_yaml(text).contains(
      "nodes: ALL stands for all hosts, but this command has no list of hosts"))
      << parsed_yaml(text);
}

TEST(SlurmYaml, ReadsRingsAndToruses) {
  EXPECT_EQ(
      parsed_yaml("- topology: r\n  ring:\n    rings:\n    - {ring: r0, nodes: \"n[2,0,1]\"}\n"),
      "ring\nn2 r0 t.yaml:4\nn0 r0 t.yaml:4\nn1 r0 t.yaml:4\n");
  EXPECT_EQ(parsed_yaml("- topology: t\n  torus3d:\n    toruses:\n    - name: t0\n"
                        "      dims: {x: 2, y: 1, z: 2}\n      nodes: n[0-3]\n"),
            "torus plane row\nn0 t0/z0/y0 t.yaml:4\nn1 t0/z0/y0 t.yaml:4\nn2 t0/z1/y0 t.yaml:4\n"
            "n3 t0/z1/y0 t.yaml:4\n");
  EXPECT_EQ(
      parsed_yaml("- topology: t\n  torus3d:\n    toruses:\n    - torus: t0\n"
                  "      dims: {x: 2, y: 2, z: 1}\n      regions:\n"
                  "      - {anchor: {x: 0, y: 1, z: 0}, dims: {x: 2, y: 1, z: 1}, nodes: \"a,b\"}\n"
                  "      placements: [{dims: {x: 1, y: 1, z: 1}}]\n"),
      "torus plane row\na t0/z0/y1 t.yaml:7\nb t0/z0/y1 t.yaml:7\n");
}

TEST(SlurmYaml, WarnsAndGoesOn) {
  const std::vector<std::pair<std::string, std::string>> rows = {
      {"- topology: a\n  tree: {switches: [{switch: s, nodes: n0, colour: red, rack: 4}]}\n",
       "t.yaml:2:44: unknown key colour is ignored (2 such keys)"},
      {"- topology: a\n  speed: 4\n  tree: {switches: [{switch: s, nodes: n0}]}\n",
       "t.yaml:2:3: unknown key speed is ignored"},
      {"- topology: a\n  tree: {switches: [{switch: s, nodes: n0, children: t}]}\n",
       "t.yaml:2 (switch s): the switch has nodes, so toprun ignores its children, as Slurm does"},
      {"- topology: a\n  block: {block_sizes: [2], blocks: [{block: b0, nodes: \"n[0-2]\"}]}\n",
       "t.yaml:2: block b0 has 3 nodes, more than its size 2"},
  };
  for (const auto& [text, expected] : rows) {
    const auto map = parse_slurm_yaml(text, "t.yaml");
    ASSERT_TRUE(map) << text << map.error().line();
    EXPECT_EQ(map->warnings, std::vector<std::string>{expected}) << text;
  }
}

TEST(SlurmYaml, RefusesWithThePlace) {
  const auto tree = [](const std::string& switches) {
    return "- topology: a\n  tree:\n    switches:\n" + switches;
  };
  const std::vector<std::pair<std::string, std::string>> rows = {
      {"topology: a\n", "t.yaml:1:1: expected a list of topologies"},
      {"- tree: {}\n", "t.yaml:1:3: this entry does not name a topology"},
      {"- topology: a\n", "t.yaml:1:3: topology a has neither tree, block, ring, torus3d nor flat"},
      {"- topology: a\n  flat: true\n  tree: {switches: []}\n",
       "t.yaml:3:3: topology a is both flat and tree"},
      {"- topology: a\n  ring: {rings: [{nodes: n0}]}\n",
       "an entry of rings does not have the name of one"},
      {"- topology: a\n  torus3d: {toruses: [{name: t, nodes: n0}]}\n",
       "t.yaml:2:23: dims has to be a table of x, y and z"},
      {"- topology: a\n  torus3d: {toruses: [{name: t, dims: {x: 2, y: 0, z: 1}, nodes: n0}]}\n",
       "dims has to be a table of x, y and z; as in dims: {x: 4, y: 4, z: 8}"},
      {"- topology: a\n  torus3d: {toruses: [{name: t, dims: {x: 2, y: 1, z: 1}, nodes: n0}]}\n",
       "the region has 1 nodes, but its size 2x1x1 has 2 positions"},
      {"- topology: a\n  tree: yes\n", "t.yaml:2:9: expected a list of switches"},
      {tree("    - nodes: n0\n"),
       "t.yaml:4:7: an entry of switches does not have the name of one switch"},
      {tree("    - switch: s[0-1]\n"), "t.yaml:4:15: an entry of switches does not have the name"},
      {tree("    - switch: s0\n      nodes: n[1-\n"),
       "t.yaml:5:14: host list 'n[1-', column 2: '[' is never closed"},
      {tree("    - switch: s0\n      nodes: n[0-999999999]\n"), "column 3: the range 0-999999999"},
      {tree("    - switch: s0\n      nodes: {n0: 1}\n"), "t.yaml:5:14: nodes must be a host list"},
      {tree("    - switch: s0\n      switch: s1\n"),
       "t.yaml:5:7: switch appears twice, first at 4:7"},
      {tree("    - {switch: a, nodes: n0}\n    - {switch: a, nodes: n1}\n"),
       "t.yaml:5:7: switch a appears twice, first at t.yaml:4"},
      {tree("    - {switch: a, children: b}\n    - {switch: b, children: a}\n"),
       "the switches form a cycle: a > b (t.yaml:5) > a (t.yaml:4)"},
      {tree("    - {switch: a, children: a}\n"), "the switches form a cycle: a > a (t.yaml:4)"},
      {tree("    - {switch: a, children: b}\n"), "switch a is above b, which no line defines"},
      {"- topology: a\n  block: {blocks: [{block: b, nodes: n0}, {block: c, nodes: n0}]}\n",
       "t.yaml:2:43: host n0 appears twice, first at t.yaml:2"},
      {"- topology: a\n  block: {block_sizes: [x], blocks: [{block: b}]}\n",
       "t.yaml:2:24: block_sizes must be a list"},
      {"- topology: a\n  block: {block_sizes: 4, blocks: [{block: b}]}\n",
       "block_sizes must be a list"},
      {"- topology: a\n tree: {\n", "t.yaml:2:"},
      {"- topology: [a\n", "t.yaml:"},
      {"- topology: a\n---\n- topology: b\n", "the file contains a second document"},
  };
  for (const auto& [text, expected] : rows) {
    const std::string outcome = parsed_yaml(text);
    EXPECT_EQ(outcome.find("error: t.yaml:"), 0u) << text << outcome;
    EXPECT_NE(outcome.find(expected), std::string::npos) << text << outcome;
  }
}

TEST(SlurmYaml, BoundsDepthAliasesAndSize) {
  std::string laughs = "a: &a [x, x, x, x, x, x, x, x, x]\n";
  for (char c = 'b'; c < 'k'; ++c) {
    laughs += fmt::format("{0}: &{0} [*{1}, *{1}, *{1}, *{1}, *{1}, *{1}, *{1}, *{1}]\n", c,
                          static_cast<char>(c - 1));
  }
  EXPECT_EQ(parsed_yaml(laughs),
            "error: t.yaml:2:8: aliases are not supported; write the value out");
  std::string lists;
  for (int i = 0; i < 1000; ++i) lists += "- ";
  EXPECT_EQ(parsed_yaml(lists + "x"), "error: t.yaml:1:65: nested more than 32 deep");
  EXPECT_EQ(parsed_yaml(std::string(100'000, '[')),
            "error: t.yaml: brackets are nested more than 32 levels deep");
  EXPECT_EQ(parsed_yaml(std::string(max_yaml_bytes + 1, '#')),
            "error: t.yaml: the file has more than 4194304 bytes of YAML; write host lists such as "
            "n[0-99] "
            "instead of single names");
  std::string deep = "- topology: a\n  tree:\n    switches:\n    - {switch: s0, nodes: n0}\n";
  for (int i = 1; i < 64; ++i)
    deep += fmt::format("    - {{switch: s{}, children: s{}}}\n", i, i - 1);
  EXPECT_NE(parsed_yaml(deep).find("switch s63 has more than 15 levels below it"),
            std::string::npos);
}

}  // namespace
}  // namespace toprun::topology
