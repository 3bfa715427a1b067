#include "base/text/error.h"
#include "cli/verbs/topo/topo_testing.h"

namespace toprun::cli {
namespace {

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
  EXPECT_EQ(
      partly.err,
      "toprun: file " + path +
          " does not know where x is: toprun places such nodes last, each in a separate domain\n");
}

TEST_F(Topo, DrawRefusesWhatItCannotDraw) {
  const std::string path = file("racks.txt", seed_lines());
  const std::vector<std::pair<std::vector<std::string>, std::string>> rows = {
      {{"--format", "jpg"},
       "--format jpg: jpg is not a picture format; choose one of: svg, png, dot"},
      {{"--order", "best"}, "choose one of: topology, given, name, torchrun"},
      {{"--order", "name", "--segment", "2"}, "only the topology order uses this option"},
      {{"--nproc-per-node", "0"}, "--nproc-per-node 0: must be a whole number from 1"},
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

}  // namespace
}  // namespace toprun::cli
