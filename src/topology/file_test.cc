#include "topology/file.h"

#include <gtest/gtest.h>

#include "topology/lines_file.h"
#include "topology/testing.h"
#include "topology/toml_file.h"

namespace toprun::topology {
namespace {

TEST(TopologyFile, IsToldByItsContent) {
  const std::vector<std::tuple<std::string, std::string, FileFormat>> rows = {
      {"t", "SwitchName=s0 Nodes=n0\n", FileFormat::slurm_conf},
      {"t", "\n# x\n blockname = b0 nodes=n0\n", FileFormat::slurm_conf},
      {"t", "Include racks.conf\n", FileFormat::slurm_conf},
      {"t.toml", "", FileFormat::toml},
      {"t", "levels = [\"a\"]\n", FileFormat::toml},
      {"t", "# x\n[hosts]\n", FileFormat::toml},
      {"t", "\n {\"Instances\": []}", FileFormat::aws},
      {"t", "{}", FileFormat::lines},
      {"t", "n0 /c/a/0\n", FileFormat::lines},
      {"t", "n0 /c/a=b/0\n", FileFormat::lines},
      {"t", "Standard\nrank hostname physical_host\n", FileFormat::lines},
      {"t", "", FileFormat::lines},
  };
  for (const auto& [path, text, expected] : rows) {
    EXPECT_EQ(detect_format(path, text), expected) << path << text;
  }
}

std::string lines(std::string_view text) {
  return text_of(parse_lines_file(text, "t"));
}

TEST(LinesFile, ReadsHostsAndTables) {
  const std::vector<std::pair<std::string, std::string>> rows = {
      {"n0 /c/b/0\n# no\n\nn1\t/c/a/1 # yes\r\n", "cluster rack\nn0 c/b t:1\nn1 c/a t:4\n"},
      {"n0 /r/0", "rack\nn0 r t:1\n"},
      {"n0 /c//0\nn1 //r/1\n", "cluster rack\nn0 c/? t:1\nn1 ?/r t:2\n"},
      {"n[0-1] /c/b/x\n", "cluster rack\nn0 c/b t:1\nn1 c/b t:1\n"},
      {"n0 /c/b/0\nn1 unknown\nn2 -\n", "cluster rack\nn0 c/b t:1\nn1 ?/? t:2\nn2 ?/? t:3\n"},
      {"n0 /a/b/c/0\n", "cluster block rack\nn0 a/b/c t:1\n"},
      {"n0 /a/b/c/d/0\n", "level1 level2 level3 level4\nn0 a/b/c/d t:1\n"},
      {"0 n0 /c/b/0\n8 n1 /c/a/1\n", "cluster rack\nn0 c/b t:1\nn1 c/a t:2\n"},
      {"Standard\nrank    hostname        physical_host\n0 n0 /c/b/0\n8 n1\n",
       "cluster rack\nn0 c/b t:3\nn1 ?/? t:4\n"},
      {"Standard\nrank hostname physical_host\n0 n0 /c/b/0\n8 n1 /c/a/1\n"
       "Sorted by topology\nrank hostname physical_host\n0 n1 /c/a/1\n8 n0 /c/b/0\n",
       "cluster rack\nn0 c/b t:3\nn1 c/a t:4\n"},
  };
  for (const auto& [text, expected] : rows) EXPECT_EQ(lines(text), expected) << text;
}

TEST(LinesFile, RefusesWithThePlace) {
  const std::vector<std::pair<std::string, std::string>> rows = {
      {"n0\n", "t:1:1: host n0 without its place"},
      {"n0 c/b/0\n", "t:1:4: 'c/b/0' does not begin with '/'"},
      {"n0 /0\n", "t:1:4: '/0' names no domain"},
      {"  n0 /c/b/0 more\n", "t:1:13: 'more' is one word too many"},
      {"n0 /c/b/0\nn1 /c/1\n", "t:2:4: the path has 1 levels above the host, line 1 has 2"},
      {"n0 /c/b/0\n\nn0 /c/b/0\n", "t:3:1: host n0 stands here for the second time, first at t:1"},
      {"n[0-1] /c/b/0\n n1 /c/b/0\n", "t:2:2: host n1 stands here for the second time"},
      {"n[1- /c/b/0\n", "t:1:2: '[' is never closed"},
      {"rank hostname physical_host\n0 n0 /c/b/0\n1 n0 /c/b/0\n", "t:3:3: host n0 stands here"},
      {"rank hostname physical_host\n0 n0 /c/b/0\nrank hostname physical_host\n0 n0 /c/a/0\n",
       "t:4:3: host n0 stands here for the second time, first at t:2"},
      {"rank hostname physical_host\n 8\n", "t:2:2: a rank without a host"},
      {"n0 /1/2/3/4/5/6/7/8/9/10/11/12/13/14/15/16/17/18\n", "t:1:4: a path of more than 16"},
  };
  for (const auto& [text, expected] : rows) {
    EXPECT_NE(lines(text).find("error: " + expected), std::string::npos) << text << lines(text);
  }
}

std::string toml(std::string_view text) {
  return text_of(parse_toml_file(text, "t.toml"));
}

TEST(TomlFile, ReadsHostsAndDomains) {
  const std::vector<std::pair<std::string, std::string>> rows = {
      {"levels = [\"pod\", \"leaf\"]\n[hosts]\nn1 = \"/c/b\"\n\"n[2-3]\" = [\"c\", \"a\"]\n"
       "n0 = \"/c/b/4711\"\n",
       "pod leaf\nn1 c/b t.toml:3\nn2 c/a t.toml:4\nn3 c/a t.toml:4\nn0 c/b t.toml:5\n"},
      {"[hosts]\nn0 = \"/c/b\"\n\"n1.x\" = [\"c\", \"\"]\n",
       "cluster rack\nn0 c/b t.toml:2\nn1.x c/? t.toml:3\n"},
      {"[domains.c]\nb = \"n[0,6]\"\na = [\"n2\", \"n3,n4\"]\n",
       "cluster rack\nn0 c/b t.toml:2\nn6 c/b t.toml:2\nn2 c/a t.toml:3\nn3 c/a t.toml:3\n"
       "n4 c/a t.toml:3\n"},
      {"[domains]\nr1 = \"n0\"\n[hosts]\nn1 = \"/r0\"\n", "rack\nn0 r1 t.toml:2\nn1 r0 t.toml:4\n"},
      {"domains = { c = { b = \"n0\" } }\n", "cluster rack\nn0 c/b t.toml:1\n"},
  };
  for (const auto& [text, expected] : rows) EXPECT_EQ(toml(text), expected) << text;
}

TEST(TomlFile, KeepsAPhysicalHostAsWritten) {
  const auto map = parse_toml_file("levels = [\"a\"]\n[hosts]\nn0 = \"/r/17\"\nn1 = \"/r\"\n", "t");
  ASSERT_TRUE(map);
  EXPECT_EQ(map->hosts[0].location.written, "/r/17");
  EXPECT_EQ(map->hosts[1].location.written, "");
}

TEST(TomlFile, RefusesWithThePlace) {
  const std::vector<std::pair<std::string, std::string>> rows = {
      {"[hosts]\nn0 = \"/c/b\n", "t.toml:2:"},
      {"[hosts\nn0 = \"/c/b\"\n", "t.toml:1:"},
      {"[host]\nn0 = \"/c/b\"\n", "t.toml:1:2: unknown key 'host'; did you mean hosts?"},
      {"hosts = 1\n", "t.toml:1:9: hosts is a table"},
      {"levels = \"a\"\n[hosts]\nn0=\"/a/b/c\"\n",
       "t.toml:3:1: the path has 3 levels, `levels` has 1"},
      {"levels = [1]\n", "t.toml:1:10: levels is a list"},
      {"levels = []\n", "t.toml:1:10: levels is a list"},
      {"levels = [\"a\", \"a\"]\n", "t.toml:1:10: levels is a list"},
      {"[hosts]\nn0 = 7\n", "t.toml:2:6: a host's place is"},
      {"[hosts]\nn0 = []\n", "t.toml:2:6: a host's place is"},
      {"[hosts]\nn0 = \"c/b\"\n", "t.toml:2:6: 'c/b' does not begin with '/'"},
      {"[hosts]\nn0 = \"/a\"\nn1 = \"/a/b\"\n",
       "t.toml:3:1: the path has 2 levels, that of line 2 has 1"},
      {"[hosts]\nn0 = \"/a\"\n\"n[0-1]\" = \"/b\"\n",
       "t.toml:3:1: host n0 stands here for the second time, first at t.toml:2"},
      {"[hosts]\nn0 = \"/a\"\nn0 = \"/b\"\n", "t.toml:3:"},
      {"[hosts]\n\"n[1-\" = \"/a\"\n", "t.toml:2:1: host list 'n[1-', column 2"},
      {"[domains]\na = 3\n", "t.toml:2:5: 'a' is neither hosts nor domains"},
      {"[domains.1.2.3.4.5.6.7.8.9.10.11.12.13.14.15.16]\na = \"n0\"\n", "more than 16 levels"},
  };
  for (const auto& [text, expected] : rows) {
    EXPECT_NE(toml(text).find("error: "), std::string::npos) << text;
    EXPECT_NE(toml(text).find(expected), std::string::npos) << text << toml(text);
  }
}

}  // namespace
}  // namespace toprun::topology
