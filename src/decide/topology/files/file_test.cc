#include "decide/topology/files/file.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "base/os/files.h"
#include "base/os/os_testing.h"
#include "decide/topology/files/formats.h"
#include "decide/topology/slurm/yaml.h"
#include "decide/topology/topology_testing.h"

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
      {"t", "{}", FileFormat::json},
      {"t", "# x\n[[hosts]]\n", FileFormat::toml},
      {"t.json", "", FileFormat::json},
      {"t", "{\"hosts\": {}}", FileFormat::json},
      {"t", "\n [\n{}]", FileFormat::json},
      {"t", "[ {\"id\": 1}]", FileFormat::json},
      {"t.yaml", "SwitchName=s0\n", FileFormat::yaml},
      {"t.yml", "", FileFormat::yaml},
      {"t", "---\n", FileFormat::yaml},
      {"t", "# x\n- topology: a\n", FileFormat::yaml},
      {"t", "hosts:\n  n0: /r\n", FileFormat::yaml},
      {"t", "#\n# Topology file: generated on …\n\nvendid=0x2c9\n", FileFormat::ibnetdiscover},
      {"t", "Switch\t65 \"S-2c5e\"\n", FileFormat::ibnetdiscover},
      {"t", "n0 /c/a/0\n", FileFormat::lines},
      {"t", "0: n0 /c/a/0\n", FileFormat::lines},
      {"t", "Switch 5 (root)\n├── Switch 0 (1 nodes)\n", FileFormat::azslurm},
      {"t", "block 1  : # of Nodes = 18\n", FileFormat::azslurm},
      {"t", "n0 /c/a=b/0\n", FileFormat::lines},
      {"t", "Standard\nrank hostname physical_host\n", FileFormat::lines},
      {"t", "", FileFormat::lines},
  };
  for (const auto& [path, text, expected] : rows) {
    EXPECT_EQ(recognise(path, text).format, expected) << path << text;
  }
}

// Lines of a terminal or another program before the content.
TEST(TopologyFile, IsToldByContentBehindStrayLines) {
  const std::vector<std::tuple<std::string, std::string, FileFormat, std::size_t>> rows = {
      {"t", "[root@mgmt ~]# ibnetdiscover\nvendid=0x2c9\n", FileFormat::ibnetdiscover, 29},
      {"t", "ibwarn: [7] mad_rpc: failed (errno = 5)\n#\nSwitch 65 \"S-2c\"\n",
       FileFormat::ibnetdiscover, 42},
      {"t", "src/query_smp.c:1; timed out\nSwitch65 \"S-2c\"# \"l\"\n", FileFormat::ibnetdiscover,
       29},
      {"t", "\nNon-Chassis Nodes\n\nvendid=0x2c9\n", FileFormat::ibnetdiscover, 1},
      {"t", "SW    73  1 0x2c5e 4x NDR - CA 6 1 0xe0 ( 'l0' - 'n0' )\n", FileFormat::ibnetdiscover,
       0},
      {"t", "$ scontrol show topology\nSwitchName=s0 Level=0\n", FileFormat::slurm_conf, 25},
      {"t", "Warning: old client\n{\"hosts\": {}}\n", FileFormat::json, 20},
      {"t.json", "Warning: x\n{\"Instances\": []}\n", FileFormat::aws, 11},
      {"t", "user@login:~$ scontrol show topoconf\n- topology: a\n", FileFormat::yaml, 37},
      {"t", "error: /sys/class is missing\nn0 /c/a/0\n", FileFormat::lines, 0},
  };
  for (const auto& [path, text, format, start] : rows) {
    const Recognised found = recognise(path, text);
    EXPECT_EQ(found.format, format) << text;
    EXPECT_EQ(found.start, start) << text;
  }
}

TEST(TopologyFile, KnowsWhatNoOrderFollowsFrom) {
  const std::vector<std::pair<std::string, std::string>> rows = {
      {"Switch\t : 0x0002c90200410d28 ports 36 devid 0xbd36 vendid 0x2c9 \"s\"\n",
       "f is a list of a fabric's nodes, without the cables; give the whole output of "
       "`ibnetdiscover`"},
      {"CA: n0 mlx5_0:\n  0xe0  1  1[  ] ==( 4X  25 Gbps Active/  LinkUp)==>  73  1[  ] \"l\" \n",
       "f is the output of iblinkinfo"},
      {"NodeName=n0 Arch=x86_64 CoresPerSocket=1\n", "give the output of `scontrol show topology`"},
      {"\tGPU0\tGPU1\tCPU Affinity\nGPU0\t X \tNV12\t0-15\n", "a description of one host's inside"},
      {"<?xml version=\"1.0\"?>\n<topology>\n", "a description of one host's inside"},
      {"<system version=\"1\">\n", "a description of one host's inside"},
      {"<graphs version=\"1\">\n", "a description of one host's inside"},
  };
  for (const auto& [text, expected] : rows) {
    const auto error = unusable_output("f", text);
    ASSERT_TRUE(error) << text;
    EXPECT_TRUE(error->line().contains(expected)) << error->line();
  }
  EXPECT_FALSE(unusable_output("f", "n0 /c/a/0\n"));
  EXPECT_FALSE(unusable_output("f", "[hosts]\nGPU0 = \"/c/a\"\n")) << "a host of that name";
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
      {" 0: n0 /c/b/0\n 1: n0 /c/b/0\n10: n1 /c/a/1\n", "cluster rack\nn0 c/b t:1\nn1 c/a t:3\n"},
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
      {"n0\n", "t:1:1: the path of host n0 is missing"},
      {"n0 c/b/0\n", "t:1:4: 'c/b/0' does not begin with '/'"},
      {"n0 /0\n", "t:1:4: '/0' does not name a domain"},
      {"  n0 /c/b/0 more\n", "t:1:13: 'more' is unexpected: the line has too many words"},
      {"n0 /c/b/0\nn1 /c/1\n",
       "t:2:4: this path has 1 level above the host, but the path in line 1 has 2"},
      {"n0 /c/b/0\n\nn0 /c/b/0\n", "t:3:1: host n0 appears twice, first at t:1"},
      {"n[0-1] /c/b/0\n n1 /c/b/0\n", "t:2:2: host n1 appears twice"},
      {"n[1- /c/b/0\n", "t:1:2: '[' is never closed"},
      {"rank hostname physical_host\n0 n0 /c/b/0\n1 n0 /c/b/0\n", "t:3:3: host n0 appears twice"},
      {"rank hostname physical_host\n0 n0 /c/b/0\nrank hostname physical_host\n0 n0 /c/a/0\n",
       "t:4:3: host n0 appears twice, first at t:2"},
      {"rank hostname physical_host\n 8\n", "t:2:2: a rank has no host"},
      {"n0 /1/2/3/4/5/6/7/8/9/10/11/12/13/14/15/16/17/18\n", "t:1:4: the path has more than 16"},
  };
  for (const auto& [text, expected] : rows) {
    EXPECT_NE(lines(text).find("error: " + expected), std::string::npos) << text << lines(text);
  }
}

// The result of --topology FILE for a file with this content.
std::string outcome_of_file(const std::string& name, std::string_view content) {
  const TemporaryFolder temporary;
  const std::filesystem::path& folder = temporary.path();
  std::ofstream(folder / name) << content;
  Request request;
  request.topology = (folder / name).string();
  const auto map = read_file_source(request);
  std::string text = map ? text_of(**map) : "error: " + map.error().line();
  if (map) text += fmt::format("{}", fmt::join((*map)->warnings, "\n"));
  for (std::size_t i = 0; (i = text.find(folder.string() + "/")) != std::string::npos;) {
    text.erase(i, folder.string().size() + 1);
  }
  return text;
}

TEST(TopologyFile, SaysWhatIsWrongWithTheWholeFile) {
  const std::string elf(
      "\x7f"
      "ELF\x02\x01\x01\0",
      8);
  const std::vector<std::tuple<std::string, std::string, std::string>> rows = {
      {"t", elf,
       "error: cannot read t: it is not a text file; is the file compressed, or is it the wrong "
       "file?"},
      {"t.json", std::string("{\0\"\0", 4), "error: cannot read t.json: it is not a text file"},
      {"t.gz", "\x1f\x8b\x08...", "error: cannot read t.gz: it is not a text file"},
      {"train.py", "import torch\nx = 1\n",
       "error: train.py is a Python program; give a description of the network between hosts"},
      {"t.py", "# a program\nfrom torch import nn\nlr = 0.1\n", "error: t.py is a Python program"},
      {"t", "import /r/import\nn1 /r/n1\n", "rack\nimport r t:1\nn1 r t:2\n"},
      {"t", "a = 1\nb\n",
       "error: t:2:2: expected = after the key, as in key = value; the file was read "
       "as TOML (see https://toml.io); if it is not TOML, give a description"},
      {"t", "\xff\xfen0", "error: cannot read t: the file is UTF-16; save the file as UTF-8"},
      {"t", "\xef\xbb\xbfSwitchName=s0 Nodes=n0\n", "leaf\nn0 s0 t:1\n"},
      {"t", "\xef\xbb\xbf{\"hosts\": {\"n0\": \"/r\"}}", "rack\nn0 r t:1\n"},
      {"t", "$ scontrol show topology\nSwitchName=s0 Level=0 Nodes=n0\n",
       "leaf\nn0 s0 t:2\nt:1: '$ scontrol show topology' is skipped: it is not a line of the "
       "file's "
       "form"},
      {"t", "one\ntwo\n{\"hosts\": {\"n0\": \"/r\"}}",
       "rack\nn0 r t:3\nt:1: 'one' is skipped: it is not a line of the file's form (2 such lines)"},
      {"t", "hosts: {}\n",
       "error: t: it does not list any hosts; write hosts: {HOST: /cluster/rack}, or the format in "
       "man topology.yaml"},
      {"t", "Ca\t : 0x00 ports 1 devid 0x1 vendid 0x2 \"n0\"\n",
       "error: t is a list of a fabric's nodes, without the cables"},
      {"t", "SwitchName=s1 Switches=s2\nSwitchName=s2 Nodes=0x155dfffd341acb\n",
       "error: t lists InfiniBand ports instead of hosts: only the agents of a job know which host "
       "has which port; pass this file to a launch"},
      {"t", "\xef\xbb\xbfn0 /r/0\n", "rack\nn0 r t:1\n"},
      {"t", "n0 /r/0\r\nn1 /r/1\nn2 /r/2\r\n\r\n", "rack\nn0 r t:1\nn1 r t:2\nn2 r t:3\n"},
      {"t", "n0 /r/0\nN0.c /r/1\n",
       "rack\nn0 r t:1\nN0.c r t:2\nn0 (t:1) and N0.c (t:2) are perhaps the same host, but toprun "
       "counts them as two hosts"},
      {"t", std::string(default_file_limit_bytes + 1, 'x'),
       "error: cannot read t: the file is larger than 67108864 bytes"},
      {"t", std::string(max_topology_file_bytes + 1, 'x'),
       "error: cannot read t: the file is larger than 134217728 bytes"},
      {"t.yaml", ", x", "error: t.yaml:1:1: this text does not begin a value"},
      {"t.yaml", "a: b\n---\n, x", "error: t.yaml:3:1: this text does not begin a value"},
      {"t.yaml", "- topology: x\n  flat: true\n",
       "error: t.yaml: it does not list any hosts: t.yaml:2: topology x is flat: it does not say "
       "where any host is"},
      {"t.yaml", "hosts:\n  n0: /c/a\n  \"n[1-2]\": [c, b]\n",
       "cluster rack\nn0 c/a t.yaml:2\nn1 c/b t.yaml:3\nn2 c/b t.yaml:3\n"},
      {"t", "vendid=0x2c9\nCa\t1 \"H-0b\"\t\t# \"n0 HCA-1\"\n",
       "error: t:2:1: the file contains no switch: H-0b"},
      {"t", "n[0-999999999] /r/0\n", "error: t:1:3: the range 0-999999999 has more than 262144"},
  };
  for (const auto& [name, content, expected] : rows) {
    const std::string outcome = outcome_of_file(name, content);
    EXPECT_EQ(outcome.find(expected), 0u) << content.substr(0, 60) << "\n" << outcome;
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

TEST(PlainFile, TellsOfLinks) {
  const auto map = parse_toml_file(
      "levels = [\"rack\"]\n[links]\nrack = 0.4\nhost = {gbps = 100, latency_us = 0}\n[hosts]\n"
      "n0 = \"/r\"\n",
      "t");
  ASSERT_TRUE(map) << map.error().line();
  EXPECT_EQ(map->links.at("rack").gbps, 0.4);
  EXPECT_FALSE(map->links.at("rack").latency_us);
  EXPECT_EQ(map->links.at("host").gbps, 100);
  EXPECT_EQ(map->links.at("host").latency_us, 0);
  const auto yaml = parse_yaml_file("hosts: {n0: /r}\nlinks:\n  rack: {gbps: 12.5}\n", "t");
  ASSERT_TRUE(yaml) << yaml.error().line();
  EXPECT_EQ(yaml->links.at("rack").gbps, 12.5);
}

TEST(PlainFile, RefusesLinksThatAreNone) {
  const std::string head = "hosts = {n0 = \"/c/r\"}\n[links]\n";
  const std::vector<std::pair<std::string, std::string>> rows = {
      {"leaf = 4", "t:3:1: there is no level leaf; choose one of: cluster, rack, host"},
      {"rack = 0", "t:3:8: expected a number above 0"},
      {"rack = -4", "t:3:8: expected a number above 0"},
      {"rack = \"x\"", "t:3:8: expected a number above 0"},
      {"rack = inf", "t:3:8: expected a number above 0"},
      {"rack = [4]", "t:3:8: expected a number above 0"},
      {"rack = {gbps = 4, latency = 5}", "t:3:19: 'latency' is not a property of a link; write "},
      {"rack = {latency_us = -1}", "t:3:22: expected a number above 0"},
  };
  for (const auto& [line, expected] : rows) {
    const auto map = parse_toml_file(head + line + "\n", "t");
    ASSERT_FALSE(map) << line;
    EXPECT_EQ(map.error().line().find(expected), 0u) << line << "\n" << map.error().line();
  }
}

TEST(TomlFile, WarnsOfUnknownKeys) {
  const auto map = parse_toml_file("[host]\nn1 = \"/r\"\n[hosts]\nn0 = \"/r\"\n", "t");
  ASSERT_TRUE(map) << map.error().line();
  EXPECT_EQ(text_of(*map), "rack\nn0 r t:4\n");
  EXPECT_EQ(map->warnings,
            std::vector<std::string>{"t:1:2: unknown key 'host' is ignored; did you mean hosts?"});
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
      {"hosts = 1\n", "t.toml:1:9: hosts must be a table"},
      {"levels = \"a\"\n[hosts]\nn0=\"/a/b/c\"\n",
       "t.toml:3:1: the path has 3 levels, but `levels` has 1"},
      {"levels = [1]\n", "t.toml:1:10: levels must be a list"},
      {"levels = []\n", "t.toml:1:10: levels must be a list"},
      {"levels = [\"a\", \"a\"]\n", "t.toml:1:10: levels must be a list"},
      {"[hosts]\nn0 = 7\n", "t.toml:2:6: a host's path must"},
      {"[hosts]\nn0 = []\n", "t.toml:2:6: a host's path must"},
      {"[hosts]\nn0 = \"c/b\"\n", "t.toml:2:6: 'c/b' does not begin with '/'"},
      {"[hosts]\nn0 = \"/a\"\nn1 = \"/a/b\"\n",
       "t.toml:3:1: the path has 2 levels, but the path in line 2 has 1"},
      {"[hosts]\nn0 = \"/a\"\n\"n[0-1]\" = \"/b\"\n",
       "t.toml:3:1: host n0 appears twice, first at t.toml:2"},
      {"[hosts]\nn0 = \"/a\"\nn0 = \"/b\"\n", "t.toml:3:"},
      {"[hosts]\n\"n[1-\" = \"/a\"\n", "t.toml:2:1: host list 'n[1-', column 2"},
      {"[domains]\na = 3\n", "t.toml:2:5: the value of 'a' contains neither hosts nor domains"},
      {"[domains.1.2.3.4.5.6.7.8.9.10.11.12.13.14.15.16]\na = \"n0\"\n", "more than 16 levels"},
  };
  for (const auto& [text, expected] : rows) {
    EXPECT_NE(toml(text).find("error: "), std::string::npos) << text;
    EXPECT_NE(toml(text).find(expected), std::string::npos) << text << toml(text);
  }
}

}  // namespace
}  // namespace toprun::topology
