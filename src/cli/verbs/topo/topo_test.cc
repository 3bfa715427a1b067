
#include <nlohmann/json.hpp>

#include "base/os/files.h"
#include "base/text/error.h"
#include "cli/verbs/topo/topo_testing.h"
#include "observe/report/formats.h"

namespace toprun::cli {
namespace {

constexpr const char* host_is_assumed =
    "toprun: host=400 Gbps is assumed for all adapters of a host together; --link host=GBPS "
    "sets another speed\n";

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
  EXPECT_EQ(order({{"SLURM_STEP_NODELIST", "n0"},
                   {"SLURM_STEP_ID", "-5"},
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

TEST_F(Topo, NamesTheNodesThatNothingIsKnownOf) {
  const std::string tail = ": toprun places such nodes last, each in a separate domain\n";
  const std::vector<std::pair<std::string, std::string>> rows = {
      {"n[0-7]", ""},
      {"n[0-6],x", " does not know where x is" + tail},
      {"n0,x[1-7]", " does not know where x[1-7] are" + tail},
      {"x[0-7]", " does not know where x[0-7] are" + tail},
  };
  for (const auto& [hosts, expected] : rows) {
    const std::string path = file("racks.txt", seed_lines());
    const auto outcome = run({"order", "--topology", path, "--hosts", hosts});
    EXPECT_EQ(outcome.code, 0);
    const std::string line = outcome.err.substr(0, outcome.err.find('\n') + 1);
    if (expected.empty()) {
      EXPECT_EQ(outcome.err.find("where"), std::string::npos) << outcome.err;
    } else {
      EXPECT_EQ(line, "toprun: file " + path + expected);
    }
  }
}

// A cable pulled on every rail, or a host that is not of this fabric.
TEST_F(Topo, NamesAHostWithoutAnyRail) {
  const std::string path =
      file("fabric.txt",
           "switchguid=0x1(1)\n"
           "Switch\t4 \"S-0000000000000001\"\t\t# \"MF0;l0:X/U1\" enhanced "
           "port 0 lid 1 lmc 0\n"
           "[1]\t\"H-00000000000000a0\"[1](a0) \t\t# \"n0 mlx5_0\" lid 2 4xNDR\n"
           "[2]\t\"H-00000000000000a1\"[1](a1) \t\t# \"n1 mlx5_0\" lid 3 4xNDR\n");
  const auto outcome = run({"order", "--topology", path, "--hosts", "n[0-2]", "--json"});
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  const auto json = nlohmann::json::parse(outcome.out);
  EXPECT_EQ(json["unplaced"], nlohmann::json({"n2"}));
  EXPECT_NE(
      json["warnings"].dump().find("does not know where n2 is: toprun places such nodes last"),
      std::string::npos)
      << json["warnings"];
}

TEST_F(Topo, KnowsNothingWithoutEvidence) {
  const auto outcome = run({"order", "--hosts", "n[2,1]"});
  EXPECT_EQ(outcome.code, 0);
  EXPECT_NE(outcome.out.find("0     n2        unknown\n1     n1        unknown\n"),
            std::string::npos);
  EXPECT_NE(outcome.err.find("nothing is known about the network"), std::string::npos);
}

TEST_F(Topo, AnOrderIsAlsoAList) {
  const std::string racks = file("racks.txt", "n0 /c/a/0\nn1 /c/b/1\nn2 /c/a/2\n");
  const auto scored = run({"score", "--topology", racks, "--order", "n2,n[0-1]"});
  EXPECT_EQ(scored.code, 0) << scored.err;
  EXPECT_NE(scored.out.find("\nlist "), std::string::npos) << scored.out;
  const auto drawn = run({"draw", "--topology", racks, "--order", "n2,n[0-1]"});
  EXPECT_EQ(drawn.code, 0) << drawn.err;
  EXPECT_NE(drawn.out.find("n2: rank 0"), std::string::npos);
}

TEST_F(Topo, AnOrderIsWrittenToAFile) {
  const std::string racks = file("racks.txt", "n0 /c/a/0\nn1 /c/b/1\nn2 /c/a/2\n");
  const std::string written = (folder_ / "written").string();
  const auto outcome = run({"order", "--topology", racks, "--format", "hosts", "-o", written});
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_EQ(outcome.out, "");
  EXPECT_EQ(read_file(written).value_or(""), "n0\nn2\nn1\n");
}

TEST_F(Topo, RefusesInOneLine) {
  const std::string good = file("good.txt", "n0 /c/a/0\n");
  const std::vector<std::pair<std::vector<std::string>, std::string>> rows = {
      {{}, "toprun: topo: it needs a verb"},
      {{"paint"},
       "toprun: topo paint: there is no such verb; choose one of: show, order, draw, score"},
      {{"ordr"}, "did you mean order?"},
      {{"order", "--nproc-per-node", "0"}, "--nproc-per-node"},
      {{"order", "--nproc-per-node", "x"}, "--nproc-per-node"},
      {{"order", "--jsn"}, "--jsn"},
      {{"order", "--format", "slrm"},
       "toprun: --format slrm: no format has this name; did you mean slurm?"},
      {{"order", "--format", "xml"}, "choose one of: table, json, hosts"},
      {{"order", "--json", "--format", "seq"}, "--json and --format seq: only one format"},
      {{"order", "--topology", good, "--nproc-per-node", "100001"}, "--nproc-per-node"},
      {{"order", "--hosts", "n[0-999]", "--nproc-per-node", "10001", "--format", "slurm"},
       "the job has 10001000 ranks, but toprun can list at most 10000000"},
      {{"order", "extra"}, "extra"},
      {{"order"}, "no hosts are known"},
      {{"show"}, "no hosts are known"},
      {{"score", "--nproc-per-node", "0"}, "--nproc-per-node"},
      {{"score", "--topology", good, "--link", "leaf=4"},
       "--link leaf: the network does not have this level; choose one of: cluster, rack, host"},
      {{"score", "--topology", good, "--link", "rack"}, "--link rack: it names no level"},
      {{"score", "--topology", good, "--link", "rack=fast"},
       "the bandwidth is a number of gigabits per second above 0"},
      {{"score", "--topology", good, "--link", "rack=4:x"}, "a number of microseconds"},
      {{"score", "--topology", good, "--link", "rack=4", "--link", "rack=5"},
       "--link rack=5: level rack is given twice; give each level once"},
      {{"score", "--topology", good, "--link", "rack=4", "host=5"}, "host=5"},
      {{"score", "--topology", good, "--size", "16MB"}, "--size 16MB: must be a number of bytes"},
      {{"score", "--topology", good, "--size", "0"}, "--size 0: must be a number of bytes"},
      {{"score", "--topology", good, "--order", (folder_ / "none").string()},
       "--order: cannot read " + (folder_ / "none").string()},
      {{"score", "--topology", good, "--order", "n0,n1"}, "--order:1: host n1 is not in the job"},
      {{"--topology", good}, "toprun: topo --topology: topo needs a verb first; choose one of"},
      {{"score", "--topology", good, "--order", file("order", "n0\nn9\n")},
       "order:2: host n9 is not in the job"},
      {{"order", "--topology", good, "--link", "rack=4"}, "--link: it needs --parallel"},
      {{"order", "--topology", good, "--parallel", "tp=2"},
       "--parallel tp=2: the product of these sizes, 2, does not divide the job's number "
       "of ranks, 1"},
      {{"order", "--topology", good, "--parallel", "tp=1", "--segment", "2"},
       "--segment and --parallel: both decide"},
      {{"score", "--topology", good, "--parallel", "xx=1"}, "unknown kind of parallelism"},
      {{"score", "--topology", good, "--parallel", "tp=1", "--link", "leaf=1"},
       "--link leaf: the network does not have this level; choose one of: cluster, rack, host"},
      {{"order", "--hosts", "n[1-"}, "--hosts: host list 'n[1-', column 2"},
      {{"order", "--hosts", "n[3-1]"}, "column 3: the range 3-1 descends"},
      {{"order", "--hosts", "n[0-999999999]"}, "more than 262144 hosts"},
      {{"order", "--hosts", "n0,n1,n0"}, "host n0 appears twice"},
      {{"order", "--hosts", ","}, "names no host"},
      {{"order", "--hosts", ""}, "names no host"},
      {{"order", "--topology", (folder_ / "none").string()}, "No such file"},
      {{"order", "--topology", folder_.string()}, "Is a directory"},
      {{"order", "--topology", file("a.toml", "levels = [\"x\"\n[hosts]\n")}, "a.toml:2:"},
      {{"order", "--topology", file("a.txt", "n0 /c/a/0\nn1 c/a\n")}, "a.txt:2:4: 'c/a'"},
      {{"order", "--topology", file("b.txt", "n0 /c/a/0\nn0 /c/b/0\n")},
       "b.txt:2:1: host n0 appears twice, first at"},
      {{"order", "--topology",
        file("c.conf", "SwitchName=a Switches=b\nSwitchName=b Switches=a\n")},
       "c.conf:1:1: the switches form a cycle: a > b"},
      {{"order", "--topology", file("d.conf", "SwitchName=a Nodes=n[1-\n")}, "d.conf:1:21: "},
      {{"order", "--topology", file("topology.yaml", "- topology: x\n")},
       "topology.yaml:1:3: topology x has neither tree, block, ring, torus3d nor flat"},
      {{"order", "--topology", file("empty", "# nothing\n")}, "it does not list any hosts"},
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
                             " does not know where n[0,3] are: toprun places such nodes last, each "
                             "in a separate domain\n"),
            std::string::npos)
      << outcome.err;
}

// "Which order would it get?" is asked for a launch from here.
TEST_F(Topo, TakesWhatALaunchWouldTake) {
  const std::string racks = file("racks.txt", "n0 /c/b/0\nn1 /c/a/1\nn2 /c/b/2\nn3 /c/a/3\n");
  const Environment named = {{"TOPRUN_TOPOLOGY", racks}};
  EXPECT_EQ(run({"order", "--format", "hosts"}, named).out, "n1\nn3\nn0\nn2\n");
  EXPECT_TRUE(run({"show"}, named).out.starts_with("cluster c  4 nodes\n"));
  EXPECT_TRUE(run({"score"}, named).out.contains("topology        0     2\n"));
  EXPECT_TRUE(run({"draw", "--format", "dot"}, named).out.starts_with("digraph"));

  fs::create_directories(folder_ / "toprun");
  file("toprun/toprun.toml", "topology = '" + racks + "'\nnproc-per-node = 4\nsegment = 2\n");
  const Environment configured = {{"XDG_CONFIG_HOME", folder_.string()}};
  EXPECT_EQ(run({"order", "--format", "hostfile"}, configured).out,
            "n1 slots=4\nn3 slots=4\nn0 slots=4\nn2 slots=4\n");
  // The command line goes first, and a number of processes that only a launch knows is left out.
  const std::string other = file("other.txt", "n8 /c/a/0\n");
  EXPECT_EQ(run({"order", "--topology", other, "--format", "hosts"}, configured).out, "n8\n");
  const Environment gpus = {{"TOPRUN_TOPOLOGY", racks}, {"PET_NPROC_PER_NODE", "gpu"}};
  EXPECT_EQ(run({"order", "--format", "hostfile"}, gpus).out,
            "n1 slots=1\nn3 slots=1\nn0 slots=1\nn2 slots=1\n");
  // Hosts with their own number of processes, and links that only --parallel would use.
  const Environment hosts = {
      {"TOPRUN_TOPOLOGY", racks}, {"TOPRUN_HOSTS", "n0,n1:4,me@n2"}, {"TOPRUN_LINK", "rack=400"}};
  EXPECT_EQ(run({"order", "--format", "hostfile"}, hosts).out,
            "n1 slots=4\nn0 slots=1\nn2 slots=1\n");
  // What this verb has for itself under a launch's name is not the launch's.
  file("toprun/toprun.toml", "topology = '" + racks + "'\nstable = true\nnnodes = 2\n");
  EXPECT_EQ(run({"order", "--format", "hosts"}, configured).out, "n1\nn3\nn0\nn2\n");
  EXPECT_EQ(run({"order", "--no-config"}, configured).code, exit_usage);
  const auto wrong = run({"order"}, {{"TOPRUN_TOPOLOGY", racks}, {"TOPRUN_SEGMENT", "0"}});
  EXPECT_EQ(wrong.code, exit_usage);
  EXPECT_TRUE(wrong.err.contains("TOPRUN_SEGMENT=0: must be a whole number from 1")) << wrong.err;
}

TEST_F(Topo, HelpsOnStdout) {
  for (const auto& [arguments, text] :
       std::vector<std::pair<std::vector<std::string>, std::string>>{
           {{"--help"}, "usage: toprun topo VERB"},
           {{"-h"}, "toprun help topo VERB"},
           {{"order", "--help"}, "toprun topo order --topology racks.txt"},
           {{"show", "--help"}, "toprun topo show --topology racks.txt"},
           {{"score", "--help"}, "toprun topo score --topology racks.txt"},
           {{"draw", "--help"}, "toprun topo draw --topology racks.txt -o ring.svg"},
           {{"convert", "--help"}, "toprun topo convert --topology fabric.txt"},
       }) {
    const auto outcome = run(arguments);
    EXPECT_EQ(outcome.code, 0);
    EXPECT_NE(outcome.out.find(text), std::string::npos) << outcome.out;
    EXPECT_EQ(outcome.err, "");
  }
}

TEST_F(Topo, HelpNamesEveryFormat) {
  const auto outcome = run({"order", "--help"});
  for (const report::Format& format : report::formats()) {
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
  EXPECT_EQ(
      slurm.err,
      "toprun: file " + path +
          " does not know where x is: toprun places such nodes last, each in a separate domain\n");
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
  EXPECT_NE(outcome.err.find("does not know where x is"), std::string::npos);

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
  const auto outcome = run({"score", "--topology", path, "--link", "rack=0.4", "--size", "16MiB"});
  EXPECT_EQ(outcome.code, 0);
  EXPECT_EQ(outcome.out,
            "neighbours in another domain, of 8 in the ring\n"
            "order     cluster  rack\n"
            "given           0     8\n"
            "name            0     8\n"
            "torchrun        0     8\n"
            "topology        0     6\n"
            "minimum         0     6\n"
            "\n"
            "16 MiB per node       time   ratio  busiest link, each way\n"
            "ring all-reduce\n"
            "  given            1174 ms    2.00  rack bbbb: 2 flows, 56 MiB\n"
            "  name             1174 ms    2.00  rack bbbb: 2 flows, 56 MiB\n"
            "  torchrun         1174 ms    2.00  rack bbbb: 2 flows, 56 MiB\n"
            "  topology          587 ms    1.00  rack bbbb: 1 flow, 28 MiB\n"
            "  bound             587 ms    1.00\n"
            "tree all-reduce\n"
            "  given            1007 ms    1.50  rack bbbb: 6 flows, 48 MiB\n"
            "  name             1007 ms    1.50  rack bbbb: 6 flows, 48 MiB\n"
            "  torchrun         1007 ms    1.50  rack bbbb: 6 flows, 48 MiB\n"
            "  topology          671 ms    1.00  rack bbbb: 4 flows, 32 MiB\n"
            "  bound             671 ms    1.00\n"
            "all-to-all\n"
            "  any order         503 ms    1.00  rack bbbb: 12 flows, 24 MiB\n"
            "ratio: the time divided by the bound, which no order can beat\n");
  EXPECT_EQ(outcome.err, host_is_assumed);
}

TEST_F(Topo, ScoresAnOrderInAFile) {
  const std::string path = file("racks.txt", seed_lines());
  const std::string order = file("order", "n2 n0 n6 n3\nn1 n4 n5 n7  # racks in a row\n");
  const auto outcome = run({"score", "--topology", path, "--order", order, "--json"});
  const auto json = nlohmann::json::parse(outcome.out);
  EXPECT_EQ(json["schema"], "toprun.topo_score/1");
  EXPECT_EQ(json["orders"][3]["crossings"]["rack"], 6);
  EXPECT_EQ(json["orders"][4]["name"], "file");
  EXPECT_EQ(json["orders"][4]["crossings"]["rack"], 6);
  EXPECT_EQ(json["bytes"], 64 << 20);
}

TEST_F(Topo, ScoreCountsAnAdapterForEachProcess) {
  const std::string path = file("racks.txt", seed_lines());
  const auto json = nlohmann::json::parse(
      run({"score", "--topology", path, "--nproc-per-node", "8", "--json"}).out);
  EXPECT_EQ(json["links"][2]["level"], "host");
  EXPECT_EQ(json["links"][2]["gbps"], 3200);
}

TEST_F(Topo, SaysThatTheLinksAreAssumed) {
  const std::string path = file("racks.txt", seed_lines());
  const std::string line =
      "toprun: no link speed is known: the times assume host=400 Gbps for all adapters of a host "
      "together, and a network that is not oversubscribed; set speeds with --link "
      "host=GBPS,LEVEL=GBPS\n";
  EXPECT_EQ(run({"score", "--topology", path}).err, line);
  EXPECT_EQ(run({"score", "--topology", path, "--link", "host=100:3"}).err, "");
  EXPECT_EQ(run({"score", "--topology", path, "--link", "rack=100"}).err, host_is_assumed);
  EXPECT_EQ(run({"score", "--topology", path, "--json"}).err, "");
}

TEST_F(Topo, KeepsTheCostliestTrafficNear) {
  // dp is outermost, so that the plain order has the partners of each group in two racks.
  const std::string path = file("racks.txt", "n[0-1] /c/a/x\nn[2-3] /c/b/x\n");
  const std::vector<std::string> arguments = {"--topology",       path,
                                              "--nproc-per-node", "8",
                                              "--parallel",       "tp=8,pp=2,order=tp-pp-dp",
                                              "--traffic",        "dp=8G,pp=1G",
                                              "--link",           "rack=160"};
  const auto with = [&](std::vector<std::string> front) {
    front.insert(front.end(), arguments.begin(), arguments.end());
    return run(front);
  };
  EXPECT_EQ(with({"order", "--format", "hosts"}).out, "n0\nn2\nn1\nn3\n");
  const auto table = with({"order"});
  EXPECT_NE(table.err.find("toprun: parallel: links are busy for "), std::string::npos)
      << table.err;
  EXPECT_NE(table.err.find(" s per step, summed over all links, and for "), std::string::npos)
      << table.err;
  EXPECT_NE(table.err.find(" in plain order; no order has less\n"), std::string::npos) << table.err;
  const auto order = nlohmann::json::parse(with({"order", "--json"}).out);
  EXPECT_EQ(order["parallel"]["exact"], true);
  EXPECT_LT(order["parallel"]["cost"], order["parallel"]["plain"]);

  const auto score = with({"score"});
  EXPECT_EQ(score.code, 0) << score.err;
  EXPECT_NE(score.out.find("\nparallel  dp        16     2        0      0 "), std::string::npos)
      << score.out;
  EXPECT_TRUE(score.out.contains(
      "\nthe bytes of tp: of a model of 70 billion parameters (the default of --model), 4194304 "
      "tokens per step and at least 4096 per replica,\n"))
      << score.out;
  const auto json = nlohmann::json::parse(with({"score", "--json"}).out);
  EXPECT_EQ(json["parallel"]["orders"][3]["groups"][1]["spanning"]["rack"], 16);
  EXPECT_EQ(json["parallel"]["orders"][4]["groups"][1]["spanning"]["rack"], 0);
}

// Whatever it prints of places it reads again: the same order and the same places.
TEST_F(Topo, ReadsWhatItPrints) {
  const std::string conf = file("t.conf",
                                "SwitchName=s0 Nodes=n[0,5]\nSwitchName=s1 Nodes=n1\n"
                                "SwitchName=s2 Nodes=n[2,4]\nSwitchName=p Switches=s[1-2]\n"
                                "SwitchName=c Switches=p,s0\n");
  const std::vector<std::string> all = {"--hosts", "n[5,4,2,1,0],x", "--format", "hosts"};
  const auto order = [&](const std::string& path) {
    std::vector<std::string> arguments = {"order", "--topology", path};
    arguments.insert(arguments.end(), all.begin(), all.end());
    return run(arguments).out;
  };
  const std::string expected = "n1\nn2\nn4\nn0\nn5\nx\n";
  ASSERT_EQ(order(conf), expected);
  const auto printed = [&](std::vector<std::string> arguments) {
    arguments.insert(arguments.end(), {"--topology", conf});
    const auto outcome = run(arguments);
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    return file("printed", outcome.out);
  };
  EXPECT_EQ(order(printed({"show", "--json"})), expected);
  EXPECT_EQ(order(printed({"order", "--json"})), expected);
  EXPECT_EQ(order(printed({"order"})), expected);
  for (const char* form : {"topology.conf", "topology.yaml"}) {
    EXPECT_EQ(order(printed({"convert", "--to", form})), expected) << form;
  }
  const auto crossings = [&](const std::string& path) {
    std::vector<int> counts;
    const auto json = nlohmann::json::parse(run({"order", "--topology", path, "--json"}).out);
    for (const auto& ring : json["ring"]) counts.push_back(ring["ordered"]);
    return counts;
  };
  ASSERT_EQ(crossings(conf), (std::vector<int>{0, 2, 3}));
  for (const std::vector<std::string>& form :
       {std::vector<std::string>{"show", "--json"}, {"order", "--json"}, {"order"}}) {
    EXPECT_EQ(crossings(printed(form)), crossings(conf)) << form[0];
  }
  // In DLRover's words a level that is not there is none that is known.
  EXPECT_EQ(run({"order", "--topology", printed({"order", "--format", "dlrover"})}).code, 0);
  const auto score = run({"show", "--topology", printed({"score", "--json"})});
  EXPECT_TRUE(score.err.contains("an object of toprun.topo_score/1 does not say where hosts are"))
      << score.err;
}

TEST_F(Topo, Converts) {
  const std::string path = file("racks.txt", seed_lines());
  EXPECT_TRUE(run({"convert", "--topology", path, "--to", "labels"})
                  .out.starts_with("apiVersion: v1\nkind: List\n"));
  const auto partly =
      run({"convert", "--topology", path, "--hosts", "n0,x", "--to", "topology.conf"});
  EXPECT_EQ(partly.out, "SwitchName=bbbb Nodes=n0\nSwitchName=CCCC Switches=bbbb\n");
  EXPECT_TRUE(
      partly.err.contains("because too little is known about their places in the network: x\n"));
  EXPECT_TRUE(
      run({"convert", "--topology", path, "--to", "label"}).err.contains("did you mean labels?"));
  EXPECT_EQ(run({"convert", "--topology", path}).code, exit_usage);
  const std::string written = file("topology.conf", "");
  const auto silent = run({"convert", "--topology", path, "-o", written});
  EXPECT_EQ(silent.code, 0) << silent.err;
  EXPECT_EQ(silent.out, "");
  EXPECT_EQ(read_file(written).value_or(""),
            run({"convert", "--topology", path, "--to", "topology.conf"}).out);
}

TEST_F(Topo, ExplainsTheOrder) {
  const std::string help = run({"order", "--help"}).out;
  EXPECT_NE(help.find("\n  --explain[=HOST] "), std::string::npos) << help;

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
                .err.find("--explain n5: the job has no host with this name"),
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
