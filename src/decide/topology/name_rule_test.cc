#include "decide/topology/name_rule.h"

#include <gtest/gtest.h>

#include "decide/topology/topology_testing.h"

namespace toprun::topology {
namespace {

std::string named(std::string_view rule, const std::vector<std::string>& names) {
  std::vector<Member> members;
  for (const std::string& name : names) members.push_back({name, "", ""});
  return text_of(map_of_names(rule, members));
}

TEST(NameRule, MakesLevelsOfNamedGroups) {
  const std::vector<std::tuple<std::string, std::vector<std::string>, std::string>> rows = {
      {R"((?<rack>r\d+)-(?<node>n\d+))",
       {"r1-n1", "r1-n2", "r2-n1.example.org"},
       "rack\nr1-n1 r1 node name\nr1-n2 r1 node name\nr2-n1.example.org r2 node name\n"},
      {"^(?<pod>p[0-9])(?:-)?(?<rack>r[0-9])?",
       {"p1-r2-n3", "p1-n4", "login"},
       "pod rack\np1-r2-n3 p1/r2 node name\np1-n4 p1/? node name\n"},
      {"(?<row>a(?<rack>[0-9]+))", {"a12"}, "row rack\na12 a12/12 node name\n"},
      {"(?<zebra>[ab])(?<ant>[cd])",
       {"ac", "ac", "bd"},
       "zebra ant\nac a/c node name\nbd b/d node name\n"},
  };
  for (const auto& [rule, names, expected] : rows) EXPECT_EQ(named(rule, names), expected) << rule;
}

TEST(NameRule, RefusesWithTheReason) {
  const std::vector<std::tuple<std::string, std::vector<std::string>, std::string>> rows = {
      {"(?<rack>r", {"r1"}, "error: --topology name:(?<rack>r: column 15: missing closing"},
      {"r[0-9]+",
       {"r1"},
       "error: --topology name:r[0-9]+: the regular expression has 0 named groups, one per level"},
      {"(?<node>n[0-9]+)", {"n1"}, "the regular expression has 0 named groups, one per level"},
      {"(?<rack>x)",
       {"n1", "n2"},
       "error: --topology name:(?<rack>x): the rule does not match any host name; for example, it "
       "does not match n1"},
      {"(?<rack>x)", {}, "there are no host names to match; give --hosts LIST"},
      {"(?<rack>(a+)+)$", {std::string(40, 'a') + "b"}, "simplify the expression"},
      {std::string(2000, 'x'), {"n1"}, "longer than 1024 bytes"},
      {"(?<a>x)(?<a>y)", {"xy"}, "two named subpatterns have the same name"},
  };
  for (const auto& [rule, names, expected] : rows) {
    EXPECT_NE(named(rule, names).find(expected), std::string::npos) << named(rule, names);
  }
}

}  // namespace
}  // namespace toprun::topology
