#include "cli/topo.h"

#include <gtest/gtest.h>

#include <cstdio>
#include <filesystem>
#include <fstream>

#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/testing.h"
#include "placement/formats.h"

namespace toprun::cli {
namespace {

namespace fs = std::filesystem;

struct Outcome {
  int code = 0;
  std::string out, err;
};

class Topo : public ::testing::Test {
 protected:
  std::string file(const std::string& name, const std::string& text) const {
    std::ofstream(folder_ / name) << text;
    return (folder_ / name).string();
  }

  static Outcome run(const std::vector<std::string>& arguments, const Environment& env = {}) {
    testing::internal::CaptureStdout();
    testing::internal::CaptureStderr();
    Outcome outcome;
    outcome.code = run_topo(arguments, env);
    outcome.out = testing::internal::GetCapturedStdout();
    outcome.err = testing::internal::GetCapturedStderr();
    return outcome;
  }

  const TemporaryFolder temporary_;
  const fs::path folder_ = temporary_.path();
};

// The seed's sample: racks of nodes 0…7.
std::string seed_lines() {
  const std::string racks = "bdacefbf";
  std::string text;
  for (std::size_t i = 0; i < racks.size(); ++i) {
    text += fmt::format("n{} /{}/{}/{}\n", i, std::string(4, 'C'), std::string(4, racks[i]),
                        std::string(4, static_cast<char>('0' + i)));
  }
  return text;
}

TEST_F(Topo, PrintsTheSeedsTables) {
  const auto outcome =
      run({"order", "--topology", file("racks.txt", seed_lines()), "--nproc-per-node", "8"});
  EXPECT_EQ(outcome.code, 0);
  EXPECT_EQ(outcome.out,
            "Standard\n"
            "rank  hostname  physical_host\n"
            "0     n0        /CCCC/bbbb/0000\n"
            "8     n1        /CCCC/dddd/1111\n"
            "16    n2        /CCCC/aaaa/2222\n"
            "24    n3        /CCCC/cccc/3333\n"
            "32    n4        /CCCC/eeee/4444\n"
            "40    n5        /CCCC/ffff/5555\n"
            "48    n6        /CCCC/bbbb/6666\n"
            "56    n7        /CCCC/ffff/7777\n"
            "Sorted by topology\n"
            "rank  hostname  physical_host\n"
            "0     n2        /CCCC/aaaa/2222\n"
            "8     n0        /CCCC/bbbb/0000\n"
            "16    n6        /CCCC/bbbb/6666\n"
            "24    n3        /CCCC/cccc/3333\n"
            "32    n1        /CCCC/dddd/1111\n"
            "40    n4        /CCCC/eeee/4444\n"
            "48    n5        /CCCC/ffff/5555\n"
            "56    n7        /CCCC/ffff/7777\n");
  EXPECT_EQ(outcome.err,
            "toprun: cluster: 0 of 8 neighbours in another cluster as given, 0 as ordered "
            "(minimum 0)\n"
            "toprun: rack: 8 of 8 neighbours in another rack as given, 6 as ordered (minimum 6)\n");
}

TEST_F(Topo, ReadsItsOwnTables) {
  const auto first = run({"order", "--topology", file("racks.txt", seed_lines())});
  const auto second = run({"order", "--topology", file("tables.txt", first.out)});
  EXPECT_EQ(second.code, 0) << second.err;
  EXPECT_EQ(second.out, first.out);
}

TEST_F(Topo, PrintsJson) {
  const std::string path = file("racks.txt", seed_lines());
  const auto outcome = run({"order", "--topology", path, "--hosts", "n[0-2],x", "--json"});
  ASSERT_EQ(outcome.code, 0);
  const auto json = nlohmann::json::parse(outcome.out);
  EXPECT_EQ(json["schema"], "toprun.topo_order/1");
  EXPECT_EQ(json["source"], "file " + path);
  EXPECT_EQ(json["levels"], nlohmann::json({"cluster", "rack"}));
  EXPECT_EQ(json["order"], nlohmann::json({"n2", "n0", "n1", "x"}));
  EXPECT_EQ(json["unplaced"], nlohmann::json({"x"}));
  EXPECT_EQ(json["nodes"][1], nlohmann::json({{"name", "n0"},
                                              {"path", {"CCCC", "bbbb"}},
                                              {"first_rank", 1},
                                              {"nproc", 1},
                                              {"evidence", path + ":1"}}));
  EXPECT_EQ(json["nodes"][3]["path"], nlohmann::json({nullptr, nullptr}));
  EXPECT_EQ(json["nodes"][3]["evidence"], nullptr);
  EXPECT_EQ(json["ring"][1],
            nlohmann::json({{"level", "rack"}, {"given", 4}, {"ordered", 4}, {"minimum", 4}}));
  ASSERT_EQ(json["warnings"].size(), 1u);
  EXPECT_NE(json["warnings"][0].get<std::string>().find("where x is"), std::string::npos);
  EXPECT_EQ(outcome.err, "");
}

TEST_F(Topo, TakesTheHostsOfTheStepOrAllocation) {
  const std::string path = file("racks.txt", seed_lines());
  const auto order = [&](const Environment& environment) {
    const auto outcome = run({"order", "--topology", path, "--json"}, environment);
    return nlohmann::json::parse(outcome.out)["order"].dump();
  };
  EXPECT_EQ(order({{"SLURM_STEP_NODELIST", "n[1-2]"}, {"SLURM_JOB_NODELIST", "n[0-7]"}}),
            R"(["n2","n1"])");
  EXPECT_EQ(order({{"SLURM_STEP_NODELIST", "n0"},
                   {"SLURM_STEP_ID", "4294967290"},
                   {"SLURM_JOB_NODELIST", "n[0-2]"}}),
            R"(["n2","n0","n1"])");
}

TEST_F(Topo, UsesTopologyConfOfSlurm) {
  file("topology.conf", "SwitchName=s0 Nodes=n[0,2]\nSwitchName=s1 Nodes=n[1,3]\n");
  const auto outcome = run({"order", "--topology", "slurm", "--json"},
                           {{"SLURM_CONF", (folder_ / "slurm.conf").string()},
                            {"SLURM_JOB_NODELIST", "n[0-3]"},
                            {"SLURM_JOB_ID", "1"},
                            {"SLURMD_NODENAME", "n0"},
                            {"SLURM_TOPOLOGY_ADDR", "s0.n0"},
                            {"SLURM_TOPOLOGY_ADDR_PATTERN", "switch.node"}});
  const auto json = nlohmann::json::parse(outcome.out);
  EXPECT_EQ(json["order"], nlohmann::json({"n0", "n2", "n1", "n3"}));
  EXPECT_EQ(json["nodes"][0]["evidence"], "SLURM_TOPOLOGY_ADDR");
}

TEST_F(Topo, KnowsNothingWithoutEvidence) {
  const auto outcome = run({"order", "--hosts", "n[2,1]"});
  EXPECT_EQ(outcome.code, 0);
  EXPECT_NE(outcome.out.find("0     n2        unknown\n1     n1        unknown\n"),
            std::string::npos);
  EXPECT_NE(outcome.err.find("nothing is known about the network"), std::string::npos);
}

TEST_F(Topo, RefusesInOneLine) {
  const std::string good = file("good.txt", "n0 /c/a/0\n");
  const std::vector<std::pair<std::vector<std::string>, std::string>> rows = {
      {{}, "toprun: topo: it needs a verb"},
      {{"paint"}, "toprun: topo paint: there is no such verb; there are show, order, draw, score"},
      {{"ordr"}, "did you mean order?"},
      {{"order", "--nproc-per-node", "0"}, "--nproc-per-node"},
      {{"order", "--nproc-per-node", "x"}, "--nproc-per-node"},
      {{"order", "--jsn"}, "--jsn"},
      {{"order", "--format", "slrm"},
       "toprun: --format slrm: there is no such form; did you mean slurm?"},
      {{"order", "--format", "xml"}, "there are table, json, hosts"},
      {{"order", "--json", "--format", "seq"}, "--json and --format seq: only one form"},
      {{"order", "--topology", good, "--nproc-per-node", "100001"}, "--nproc-per-node"},
      {{"order", "--hosts", "n[0-999]", "--nproc-per-node", "10001", "--format", "slurm"},
       "10001000 ranks, at most 10000000 can be listed"},
      {{"order", "extra"}, "extra"},
      {{"order"}, "no hosts are known"},
      {{"show"}, "no hosts are known"},
      {{"score", "--nproc-per-node", "2"}, "--nproc-per-node"},
      {{"order", "--hosts", "n[1-"}, "--hosts: host list 'n[1-', column 2"},
      {{"order", "--hosts", "n[3-1]"}, "column 3: the range 3-1 descends"},
      {{"order", "--hosts", "n[0-999999999]"}, "more than 65536 hosts"},
      {{"order", "--hosts", "n0,n1,n0"}, "host n0 stands twice"},
      {{"order", "--hosts", ","}, "names no host"},
      {{"order", "--hosts", ""}, "names no host"},
      {{"order", "--topology", (folder_ / "none").string()}, "No such file"},
      {{"order", "--topology", folder_.string()}, "Is a directory"},
      {{"order", "--topology", file("a.toml", "levels = [\"x\"\n[hosts]\n")}, "a.toml:2:"},
      {{"order", "--topology", file("a.txt", "n0 /c/a/0\nn1 c/a\n")}, "a.txt:2:4: 'c/a'"},
      {{"order", "--topology", file("b.txt", "n0 /c/a/0\nn0 /c/b/0\n")},
       "b.txt:2:1: host n0 stands here for the second time, first at"},
      {{"order", "--topology",
        file("c.conf", "SwitchName=a Switches=b\nSwitchName=b Switches=a\n")},
       "c.conf:1:1: the switches form a cycle: a > b"},
      {{"order", "--topology", file("d.conf", "SwitchName=a Nodes=n[1-\n")}, "d.conf:1:21: "},
      {{"order", "--topology", file("topology.yaml", "- topology: x\n")},
       "topology.yaml:1:3: topology x has neither tree, block nor flat"},
      {{"order", "--topology", file("empty", "# nothing\n")}, "no host stands in it"},
  };
  for (const auto& [arguments, text] : rows) {
    const auto outcome = run(arguments);
    EXPECT_EQ(outcome.code, exit_usage) << text;
    EXPECT_EQ(outcome.out, "") << text;
    EXPECT_NE(outcome.err.find(text), std::string::npos) << text << "\n" << outcome.err;
    EXPECT_EQ(std::ranges::count(outcome.err, '\n'), 1) << outcome.err;
  }
}

TEST_F(Topo, NamesHostsThatTheFileLacks) {
  const std::string path = file("racks.txt", "n1 /c/a/1\nn2 /c/a/2\n");
  const auto outcome = run({"order", "--topology", path, "--hosts", "n[0-3]"});
  EXPECT_EQ(outcome.code, 0);
  EXPECT_NE(outcome.err.find("toprun: file " + path +
                             " does not say where n[0,3] are: placed last, each as if alone\n"),
            std::string::npos)
      << outcome.err;
}

TEST_F(Topo, HelpsOnStdout) {
  for (const auto& [arguments, text] :
       std::vector<std::pair<std::vector<std::string>, std::string>>{
           {{"--help"}, "usage: toprun topo VERB"},
           {{"-h"}, "toprun topo VERB --help"},
           {{"order", "--help"}, "toprun topo order --topology racks.txt"},
           {{"show", "--help"}, "Example: toprun topo show"},
           {{"score", "--help"}, "Example: toprun topo score"},
           {{"draw", "--help"}, "toprun topo draw --topology racks.txt > ring.svg"},
       }) {
    const auto outcome = run(arguments);
    EXPECT_EQ(outcome.code, 0);
    EXPECT_NE(outcome.out.find(text), std::string::npos) << outcome.out;
    EXPECT_EQ(outcome.err, "");
  }
}

TEST_F(Topo, HelpNamesEveryFormat) {
  const auto outcome = run({"order", "--help"});
  for (const placement::Format& format : placement::formats()) {
    EXPECT_NE(outcome.out.find(fmt::format("\n  {} ", format.name)), std::string::npos)
        << format.name;
  }
}

TEST_F(Topo, PrintsTheFormsOfOtherPrograms) {
  const std::string path = file("racks.txt", seed_lines());
  const auto order = [&](const std::string& format) {
    return run({"order", "--topology", path, "--hosts", "n[0-2],x", "--format", format,
                "--nproc-per-node", "2"});
  };
  const auto slurm = order("slurm");
  EXPECT_EQ(slurm.code, 0);
  EXPECT_EQ(slurm.out, "n2\nn2\nn0\nn0\nn1\nn1\nx\nx\n");
  EXPECT_EQ(slurm.err,
            "toprun: file " + path + " does not say where x is: placed last, each as if alone\n");
  EXPECT_EQ(order("hostfile").out, "n2 slots=2\nn0 slots=2\nn1 slots=2\nx slots=2\n");
  EXPECT_EQ(order("json").err, "");
  EXPECT_EQ(order("json").out, run({"order", "--topology", path, "--hosts", "n[0-2],x",
                                    "--nproc_per_node", "2", "--json"})
                                   .out);
  EXPECT_EQ(order("table").out.find("Standard\n"), 0u);
}

TEST_F(Topo, KeepsSegmentsTogether) {
  const std::string path = file("racks.txt", "n[0-2] /a/x\nn[3-5] /b/x\n");
  const auto outcome = run({"order", "--topology", path, "--format", "hosts", "--segment", "2"});
  EXPECT_EQ(outcome.code, 0);
  EXPECT_EQ(outcome.out, "n0\nn1\nn3\nn4\nn2\nn5\n");
  EXPECT_EQ(outcome.err,
            "toprun: 2 of 6 nodes are in segments of 2 that no single rack holds: n[2,5]\n");
}

TEST_F(Topo, ShowsTheTree) {
  const std::string path = file("racks.txt", seed_lines());
  const auto outcome = run({"show", "--topology", path, "--hosts", "n[0,2,6],x"});
  EXPECT_EQ(outcome.code, 0);
  EXPECT_EQ(outcome.out,
            "cluster CCCC   3 nodes\n"
            "  rack aaaa    1 node   n2\n"
            "  rack bbbb    2 nodes  n[0,6]\n"
            "place unknown  1 node   x\n");
  EXPECT_NE(outcome.err.find("does not say where x is"), std::string::npos);

  const auto json = nlohmann::json::parse(run({"show", "--topology", path, "--json"}).out);
  EXPECT_EQ(json["schema"], "toprun.topo_show/1");
  EXPECT_EQ(json["domains"][0]["domains"].size(), 6u);
}

TEST_F(Topo, ShowFoldsAndUnfolds) {
  std::string lines;
  for (int i = 0; i < 20; ++i) lines += fmt::format("n{0} /c/r{0}/x\n", i);
  const std::string path = file("racks.txt", lines);
  const auto count = [&](const std::vector<std::string>& arguments) {
    return std::ranges::count(run(arguments).out, '\n');
  };
  EXPECT_EQ(count({"show", "--topology", path}), 2);
  EXPECT_EQ(count({"show", "--topology", path, "--all"}), 21);
}

TEST_F(Topo, ScoresTheOrders) {
  const std::string path = file("racks.txt", seed_lines());
  const auto outcome = run({"score", "--topology", path});
  EXPECT_EQ(outcome.code, 0);
  EXPECT_EQ(outcome.out,
            "neighbours in another domain, of 8 in the ring\n"
            "order     cluster  rack\n"
            "given           0     8\n"
            "name            0     8\n"
            "torchrun        0     8\n"
            "topology        0     6\n"
            "minimum         0     6\n");
  EXPECT_EQ(outcome.err, "");
  const auto json = nlohmann::json::parse(run({"score", "--topology", path, "--json"}).out);
  EXPECT_EQ(json["schema"], "toprun.topo_score/1");
  EXPECT_EQ(json["orders"][3]["crossings"]["rack"], 6);
}

TEST_F(Topo, DrawsTheRing) {
  const std::string path = file("racks.txt", seed_lines());
  const auto svg = run({"draw", "--topology", path, "--nproc-per-node", "8"});
  EXPECT_EQ(svg.code, 0);
  EXPECT_TRUE(svg.out.starts_with("<?xml")) << svg.out;
  EXPECT_TRUE(svg.out.ends_with("</svg>\n"));
  EXPECT_NE(svg.out.find("ranks 56–63"), std::string::npos);
  EXPECT_EQ(svg.err, "");

  const auto partly =
      run({"draw", "--topology", path, "--hosts", "n0,x", "--format", "dot", "--order", "given"});
  EXPECT_TRUE(partly.out.starts_with("digraph ring {\n  label=\"2 nodes in the order given"))
      << partly.out;
  EXPECT_EQ(partly.err,
            "toprun: file " + path + " does not say where x is: placed last, each as if alone\n");
}

TEST_F(Topo, DrawRefusesWhatItCannotDraw) {
  const std::string path = file("racks.txt", seed_lines());
  const std::vector<std::pair<std::vector<std::string>, std::string>> rows = {
      {{"--format", "png"}, "--format png: there is no such thing; there are svg, dot"},
      {{"--order", "best"}, "there are topology, given, name, torchrun"},
      {{"--order", "name", "--segment", "2"}, "only the topology order has segments"},
      {{"--nproc-per-node", "0"}, "see toprun topo draw --help"},
  };
  for (const auto& [options, text] : rows) {
    std::vector<std::string> arguments = {"draw", "--topology", path};
    arguments.insert(arguments.end(), options.begin(), options.end());
    const auto outcome = run(arguments);
    EXPECT_EQ(outcome.code, exit_usage) << text;
    EXPECT_EQ(outcome.out, "") << text;
    EXPECT_NE(outcome.err.find(text), std::string::npos) << outcome.err;
  }
}

TEST_F(Topo, ExplainsTheOrder) {
  const std::string path = file("racks.txt", "n0 /c/b/x\nn1 /c/a/x\n");
  const auto table = run({"order", "--topology", path, "--explain"});
  EXPECT_NE(table.out.find("\nWhy\nfile " + path + " says where the nodes are"), std::string::npos)
      << table.out;
  EXPECT_NE(table.out.find("\nn0 is 2nd of 2 (rank 1): rack b of cluster c, by "),
            std::string::npos)
      << table.out;

  const auto one = run({"order", "--topology", path, "--explain", "N0.example.org"});
  EXPECT_NE(one.out.find("\nn0 is 2nd of 2"), std::string::npos) << one.out;
  EXPECT_EQ(one.out.find("n1 is 1st"), std::string::npos) << one.out;
  EXPECT_NE(run({"order", "--topology", path, "--explain", "n5"})
                .err.find("--explain n5: there is no such host in the job"),
            std::string::npos);

  const auto hosts = run({"order", "--topology", path, "--explain", "--format", "hosts"});
  EXPECT_EQ(hosts.out, "n1\nn0\n");
  EXPECT_NE(hosts.err.find("toprun: n0 is 2nd of 2"), std::string::npos) << hosts.err;

  const auto json =
      nlohmann::json::parse(run({"order", "--topology", path, "--explain", "--json"}).out);
  EXPECT_EQ(json["explanation"].size(), 4u);
  EXPECT_TRUE(json["nodes"][1]["explanation"].get<std::string>().starts_with("n0 is 2nd of 2"));
  const auto plain = nlohmann::json::parse(run({"order", "--topology", path, "--json"}).out);
  EXPECT_FALSE(plain.contains("explanation"));
  EXPECT_FALSE(plain["nodes"][1].contains("explanation"));
}

TEST_F(Topo, SaysThatNothingIsKnown) {
  for (const char* verb : {"show", "score", "draw"}) {
    const auto outcome = run({verb, "--hosts", "n[2,1]"});
    EXPECT_EQ(outcome.code, 0) << verb;
    EXPECT_NE(outcome.err.find("nothing is known about the network"), std::string::npos) << verb;
  }
}

}  // namespace
}  // namespace toprun::cli
