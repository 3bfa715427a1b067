#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "base/os/os_testing.h"
#include "decide/topology/source.h"
#include "decide/topology/topology_testing.h"

namespace toprun::topology {
namespace {

namespace fs = std::filesystem;

// The result for a file with this name and content: the map and its warnings, or the error, without
// the folder's name.
std::string read(const std::string& name, const std::string& content,
                 std::vector<Member> members = {}) {
  const TemporaryFolder folder;
  const std::string path = (folder.path() / name).string();
  std::ofstream(path) << content;
  const auto map = locate({path, std::move(members), {}});
  std::string text = text_of(map);
  if (map) text += fmt::format("{}", fmt::join(map->warnings, "\n"));
  const std::string prefix = folder.path().string() + "/";
  for (std::size_t i = 0; (i = text.find(prefix)) != std::string::npos;) {
    text.erase(i, prefix.size());
  }
  return text;
}

struct BadInput {
  const char* name;
  std::string content;
  const char* said;  // expected somewhere in the result
};

void expect_said(const std::vector<BadInput>& rows) {
  for (const BadInput& row : rows) {
    const std::string outcome = read(row.name, row.content);
    EXPECT_TRUE(outcome.contains(row.said)) << row.content.substr(0, 200) << "\n" << outcome;
  }
}

// "/0/1/…" with this number of domains.
std::string path_of(int levels) {
  std::string path;
  for (int i = 0; i < levels; ++i) path += fmt::format("/{}", i);
  return path;
}

std::string chain_of_switches(int levels) {
  std::string text = "SwitchName=s0 Nodes=n0\n";
  for (int i = 1; i < levels; ++i) text += fmt::format("SwitchName=s{} Switches=s{}\n", i, i - 1);
  return text;
}

std::string chain_of_hypernodes(int levels) {
  std::string text = "apiVersion: v1\nkind: List\nitems:\n";
  for (int i = 1; i <= levels; ++i) {
    text += fmt::format(
        "- {{kind: HyperNode, metadata: {{name: h{}}}, spec: {{tier: {}, members: [{{type: {}, "
        "selector: {{exactMatch: {{name: {}}}}}}}]}}}}\n",
        i, i, i == 1 ? "Node" : "HyperNode", i == 1 ? "n0" : fmt::format("h{}", i - 1));
  }
  return text;
}

TEST(BadInput, SixtyFourLevelsAreTooMany) {
  expect_said({
      {"lines", "n0 " + path_of(64) + "/h\n", "more than 16"},
      {"t.toml", "[hosts]\nn0 = \"" + path_of(64) + "\"\n", "16"},
      {"t.json", "{\"hosts\": {\"n0\": \"" + path_of(64) + "\"}}", "16"},
      {"t.conf", chain_of_switches(64), "more than 15 levels below it"},
      {"t.yaml", chain_of_hypernodes(64), "more than 16 tiers"},
  });
}

TEST(BadInput, AFileOfAGigabyteIsRefusedAtOnce) {
  const TemporaryFolder folder;
  for (const char* name : {"t", "t.json", "t.yaml", "t.toml"}) {
    const fs::path path = folder.path() / name;
    std::ofstream(path) << "n0 /r/0\n";
    fs::resize_file(path, std::uintmax_t{1} << 30);
    const auto map = locate({path.string(), {}, {}});
    ASSERT_FALSE(map);
    EXPECT_TRUE(map.error().line().contains("larger than 134217728 bytes")) << map.error().line();
  }
}

TEST(BadInput, ANodeUnderTwoSwitches) {
  expect_said({
      // A fat tree that is listed switch by switch: the two switches make one leaf.
      {"t.conf", "SwitchName=a Nodes=n[0-1]\nSwitchName=b Nodes=n[0-1]\n", "leaf\nn0 "},
      {"t.conf", "BlockName=a Nodes=n[0-1]\nBlockName=b Nodes=n1\n",
       "t.conf:2:1: host n1 appears twice, first at t.conf:1"},
      {"t.toml", "[domains]\na = \"n0\"\nb = \"n0\"\n", "t.toml:3:1: host n0 appears twice"},
  });
}

TEST(BadInput, AFileOfAnotherKind) {
  expect_said({
      {"t.json", "SwitchName=s0 Nodes=n0\n", "t.json:1:1: this is not JSON"},
      {"t.yaml", "{\"hosts\": ", "t.yaml:"},
      {"t.toml", "[.hosts]\nn0 = \"a\"\n", "t.toml:1:2: "},
      {"t.toml", "[hosts]\nzürich = \"a\"\n", "t.toml:2:2: "},
      {"t.json", "{\"apiVersion\": \"v1\", \"kind\": \"Pod\"}", "neither a Node nor a HyperNode"},
      {"t", "<html><body>404</body></html>\n",
       "t:1:1: the path of host <html><body>404</body></html> is missing"},
      {"t", "PNG\r\n\x1a\n", "cannot read t: it is not a text file"},
  });
}

TEST(BadInput, MixedLineEnds) {
  expect_said({
      {"t", "n0 /r/0\r\nn1 /r/1\nn2 /r/2\r\n", "n0 r t:1\nn1 r t:2\nn2 r t:3\n"},
      {"t.conf", "SwitchName=a Nodes=n0\r\nSwitchName=b Nodes=n1\n",
       "n0 a t.conf:1\nn1 b t.conf:2"},
      {"t.toml", "[hosts]\r\nn0 = \"/a\"\nn1 = \"/b\"\r\n", "n0 a t.toml:2\nn1 b t.toml:3\n"},
      {"t.yaml", "hosts:\r\n  n0: /a\n  n1: /b\r\n", "n0 a t.yaml:2\nn1 b t.yaml:3\n"},
  });
}

TEST(BadInput, NamesInAnotherCaseOrWithADomain) {
  EXPECT_EQ(read("t", "N0.example.org /r/0\nn1 /r/1\n", {{"n0", "", ""}, {"N1.x.org", "", ""}}),
            "rack\nn0 r t:1\nN1.x.org r t:2\n");
  EXPECT_TRUE(read("t", "n0.a /r/0\nn0.b /s/0\n", {{"n0", "", ""}})
                  .contains("several hosts share the short name of n0"));
  EXPECT_TRUE(
      read("t", "n0 /r/0\nN0 /s/0\n").contains("n0 (t:1) and N0 (t:2) are perhaps the same host"));
}

// Eight nodes in Slurm; the first `count` of them know their place.
Result<Map> with_evidence_of(int count) {
  std::vector<Member> members;
  for (int i = 0; i < 8; ++i) {
    members.push_back({fmt::format("n{}", i), "", ""});
    if (i >= count) continue;
    members.back().address = fmt::format("s{}.n{}", i / 4, i);
    members.back().pattern = "switch.node";
  }
  return locate({"auto", members, {{"PATH", "/nowhere"}}});
}

TEST(BadInput, SomeNodesWithoutEvidence) {
  for (const auto& [count, note] : std::vector<std::pair<int, std::vector<std::string>>>{
           {8, {"slurm gives leaf for 8 of 8 nodes"}},
           {7, {"slurm gives leaf for 7 of 8 nodes"}},
           {1, {"slurm gives leaf for 1 of 8 nodes"}},
           {0, {}},
       }) {
    const auto map = with_evidence_of(count);
    ASSERT_TRUE(map);
    EXPECT_EQ(map->notes, note);
    EXPECT_EQ(map->hosts.size(), static_cast<std::size_t>(count));
  }
}

}  // namespace
}  // namespace toprun::topology
