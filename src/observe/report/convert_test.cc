#include "observe/report/convert.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "decide/topology/files/formats.h"
#include "decide/topology/slurm/conf.h"
#include "decide/topology/slurm/yaml.h"
#include "decide/topology/topology_testing.h"
#include "observe/report/report_testing.h"

namespace toprun::report {
namespace {

Converted converted(std::string_view form, const placement::Placement& placement) {
  const auto forms = network_forms();
  return std::ranges::find(forms, form, &NetworkForm::name)->convert(placement);
}

placement::Placement sample() {
  const auto none = topology::Domain::none();
  return placement_of({"core", "spine", "leaf", "nvlink"},
                      {{"n0", {"c", "p", "s0", "u.0"}},
                       {"n1", {"c", "p", "s0", "u.1"}},
                       {"n2", {"c", "p", "s1", "u.2"}},
                       {"n3", {"c", none, "s[3-4]", std::nullopt}},
                       {"n4", {"d", "p", "s0", std::nullopt}},
                       {"n5", {"c", "p", std::nullopt, std::nullopt}},
                       {"n6", {std::nullopt, std::nullopt, std::nullopt, std::nullopt}}});
}

TEST(Convert, WritesSlurmsTree) {
  const Converted conf = converted("topology.conf", sample());
  EXPECT_EQ(conf.text,
            "SwitchName=s0 Nodes=n[0-1]\n"
            "SwitchName=s1 Nodes=n2\n"
            "SwitchName=p Switches=s[0-1]\n"
            "SwitchName=s-3-4- Nodes=n3\n"
            "SwitchName=c Switches=p,s-3-4-\n"
            "SwitchName=d.p.s0 Nodes=n4\n"
            "SwitchName=d.p Switches=d.p.s0\n"
            "SwitchName=d Switches=d.p\n");
  EXPECT_EQ(conf.left_out, (std::vector<std::string>{"n5", "n6"}));
  const auto no_files = [](const std::string&) -> Result<std::string> { return fail("no"); };
  EXPECT_EQ(topology::text_of(topology::parse_slurm_conf(conf.text, "t", no_files)),
            "core spine leaf\nn0 c/p/s0 t:1\nn1 c/p/s0 t:1\nn2 c/p/s1 t:2\nn3 c/-/s-3-4- t:4\n"
            "n4 d/d.p/d.p.s0 t:6\n");
}

TEST(Convert, WritesTreeAndBlocks) {
  const Converted yaml = converted("topology.yaml", sample());
  const auto map = topology::parse_slurm_yaml(yaml.text, "t");
  ASSERT_TRUE(map) << map.error().line() << yaml.text;
  EXPECT_EQ(map->levels, (std::vector<std::string>{"core", "spine", "leaf", "block"}));
  EXPECT_EQ(map->hosts[1].location.path.text(), "/c/p/s0/u.1/");
}

TEST(Convert, WritesLabels) {
  const Converted text = converted("labels", sample());
  const auto map = topology::parse_yaml_file(text.text, "t");
  ASSERT_TRUE(map) << map.error().line() << text.text;
  EXPECT_EQ(map->levels, (std::vector<std::string>{"core", "spine", "leaf", "nvlink"}));
  EXPECT_EQ(map->hosts[0].location.path.text(), "/c/p/s0/u.0/");
  // A name that is not a valid label value becomes a number.
  EXPECT_TRUE(text.text.contains("fabric.topograph.run/tier-0: \"x")) << text.text;
  EXPECT_EQ(text.left_out, std::vector<std::string>{"n6"});
}

TEST(Convert, HostsBesideSwitchesGetOneOfTheirOwn) {
  const auto none = topology::Domain::none();
  EXPECT_EQ(
      converted("topology.conf",
                placement_of({"core", "leaf"}, {{"n0", {"c", "s0"}}, {"n1", {"c", none}}}))
          .text,
      "SwitchName=s0 Nodes=n0\nSwitchName=c-hosts Nodes=n1\nSwitchName=c Switches=s0,c-hosts\n");
  EXPECT_EQ(converted("topology.conf", placement_of({"leaf"}, {{"n0", {"s"}}})).text,
            "SwitchName=s Nodes=n0\n");
  EXPECT_EQ(converted("topology.yaml", placement_of({"nvlink"}, {{"n0", {"u"}}})).text,
            "---\n- topology: nvlink\n  cluster_default: true\n  block:\n    block_sizes: [1]\n"
            "    blocks:\n    - block: \"u\"\n      nodes: \"n0\"\n");
}

}  // namespace
}  // namespace toprun::report
