#include "cli/run_options.h"

#include <gtest/gtest.h>

#include "base/text.h"

namespace toprun::cli {
namespace {

using launch::Options;
using launch::Order;

Result<RunOptions> parse(std::string_view line, const Environment& environment = {}) {
  std::vector<std::string> argv;
  for (const std::string_view word : words(line)) argv.emplace_back(word);
  const auto parts = split(argv);
  if (!parts) return std::unexpected(parts.error());
  return run_options(*parts, argv, environment,
                     [](const std::string& path) { return path == "racks.toml"; });
}

Options good(std::string_view line, const Environment& environment = {}) {
  auto result = parse(line, environment);
  EXPECT_TRUE(result) << line << " → " << (result ? "" : result.error().line());
  return result ? result->options : Options{};
}

std::string error_of(std::string_view line, const Environment& environment = {}) {
  const auto result = parse(line, environment);
  EXPECT_FALSE(result) << line;
  if (result) return {};
  EXPECT_EQ(result.error().exit_code, exit_usage);
  return result.error().line();
}

TEST(RunOptions, Defaults) {
  const Options options = good("toprun s a b");
  EXPECT_EQ(options.script, "s");
  EXPECT_EQ(options.arguments, (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(options.command_line, (std::vector<std::string>{"toprun", "s", "a", "b"}));
  EXPECT_EQ(options.program, launch::Program::script);
  EXPECT_EQ(options.nnodes.value, std::nullopt);
  EXPECT_FALSE(options.nnodes.given());
  EXPECT_EQ(options.nproc_per_node.value, "");
  EXPECT_EQ(options.rdzv_backend.value, "static");
  EXPECT_EQ(options.rdzv_id.value, "none");
  EXPECT_EQ(options.role, "default");
  EXPECT_EQ(options.order, Order::automatic);
  EXPECT_EQ(options.topology, "auto");
  EXPECT_EQ(options.log_dir, std::nullopt);
  EXPECT_EQ(options.verbose, 0);
}

TEST(RunOptions, CalledTorchrunOneProcessIsTheDefault) {
  const Options options = good("torchrun s");
  EXPECT_TRUE(options.called_torchrun);
  EXPECT_EQ(options.nproc_per_node.value, "1");
  EXPECT_FALSE(options.nproc_per_node.given());
}

TEST(RunOptions, CommandLineBeforeVariableBeforeDefault) {
  const Environment environment = {
      {"PET_NNODES", "2"}, {"PET_ROLE", "r"}, {"PET_NPROC_PER_NODE", ""}};
  EXPECT_EQ(good("toprun s", environment).nnodes.value, 2);
  EXPECT_EQ(good("toprun s", environment).nnodes.source, "PET_NNODES");
  EXPECT_EQ(good("toprun --nnode 4 --nno=3 s", environment).nnodes.value, 3);
  EXPECT_EQ(good("toprun --nnode 4 --nno=3 s", environment).nnodes.source, "--nnodes");
  EXPECT_EQ(good("toprun s", environment).role, "r");
  EXPECT_FALSE(good("toprun s", environment).nproc_per_node.given());
  EXPECT_EQ(error_of("toprun s", {{"PET_NNODES", "x"}}),
            "PET_NNODES=x: must be a number of nodes from 1 to 1000000");
  EXPECT_EQ(good("toprun --nnodes 1 s", {{"PET_NNODES", "x"}}).nnodes.value, 1);
}

TEST(RunOptions, EveryVariableOfTorchrunIsRead) {
  const Options options = good("toprun s", {{"PET_NNODES", "2"},
                                            {"PET_NPROC_PER_NODE", "gpu"},
                                            {"PET_MASTER_ADDR", "n0"},
                                            {"PET_MASTER_PORT", "1234"},
                                            {"PET_RDZV_BACKEND", "c10d"},
                                            {"PET_RDZV_ENDPOINT", "n1:1"},
                                            {"PET_RDZV_ID", "job"},
                                            {"PET_RDZV_CONF", "is_host=1"},
                                            {"PET_LOCAL_ADDR", "n2"},
                                            {"PET_MODULE", "1"},
                                            {"PET_NO_PYTHON", "0"},
                                            {"PET_LOG_DIR", "logs"},
                                            {"PET_REDIRECTS", "1"},
                                            {"PET_TEE", "2"},
                                            {"PET_MAX_RESTARTS", "0"},
                                            {"PET_STANDALONE", "0"}});
  EXPECT_EQ(options.nproc_per_node.value, "gpu");
  EXPECT_EQ(options.master_addr.value, "n0");
  EXPECT_EQ(options.master_port.value, 1234);
  EXPECT_EQ(options.rdzv_backend.value, "c10d");
  EXPECT_EQ(options.rdzv_endpoint.value->host, "n1");
  EXPECT_EQ(options.rdzv_id.value, "job");
  EXPECT_EQ(options.rdzv_conf.at("is_host"), "1");
  EXPECT_EQ(options.local_addr, "n2");
  EXPECT_EQ(options.program, launch::Program::module);
  EXPECT_EQ(options.log_dir, "logs");
  EXPECT_EQ(options.redirects.of(0), 1u);
  EXPECT_EQ(options.tee.of(0), 2u);
  EXPECT_EQ(options.option_variables.size(), 16u);
}

TEST(RunOptions, OurOwnVariablesAreNotReadAsTorchrun) {
  const Environment environment = {{"TOPRUN_ORDER", "name"}, {"TOPRUN_LOCATION", "/a"}};
  EXPECT_EQ(good("toprun s", environment).order, Order::name);
  EXPECT_EQ(good("toprun --order given s", environment).order, Order::given);
  EXPECT_EQ(good("torchrun s", environment).order, Order::automatic);
  EXPECT_EQ(good("torchrun s", environment).option_variables,
            (std::vector<std::string>{"TOPRUN_ORDER"}));
}

TEST(RunOptions, ANodeRankFromAVariableIsOnlyAnIndex) {
  const Options both = good("toprun --node-rank 1 s", {{"PET_NODE_RANK", "3"}});
  EXPECT_EQ(both.node_rank.value, 1);
  EXPECT_EQ(both.node_index.value, std::nullopt);
  const Options variable = good("toprun s", {{"PET_NODE_RANK", "3"}});
  EXPECT_EQ(variable.node_rank.value, std::nullopt);
  EXPECT_EQ(variable.node_index.value, 3);
  EXPECT_EQ(variable.node_index.source, "PET_NODE_RANK");
  EXPECT_EQ(error_of("toprun --nnodes 4 --node-rank 4 s"),
            "--node-rank 4: --nnodes says 4 nodes, so it must be from 0 to 3");
}

TEST(RunOptions, OptionsOfOurOwn) {
  const Options options = good(
      "toprun --order file:hosts --topology racks.toml --topology-required --ranks-in-place "
      "--prefix "
      "--report r.json --dry-run -vv s");
  EXPECT_EQ(options.order, Order::file);
  EXPECT_EQ(options.order_file, "hosts");
  EXPECT_EQ(options.topology, "racks.toml");
  EXPECT_TRUE(options.topology_required);
  EXPECT_TRUE(options.ranks_in_place);
  EXPECT_TRUE(options.prefix);
  EXPECT_EQ(options.report, "r.json");
  EXPECT_TRUE(options.dry_run);
  EXPECT_EQ(options.verbose, 2);
  EXPECT_EQ(good("toprun --topology slurm s").topology, "slurm");
  EXPECT_EQ(
      error_of("toprun --topology gcp s"),
      "--topology gcp: no such file, and no such source of topology; the sources are auto and "
      "slurm");
}

TEST(RunOptions, Standalone) {
  const Options options = good(
      "torchrun --standalone --nnodes 1 --nproc_per_node 8 --node_rank 3 --master_addr n0 "
      "--master_port 29400 train.py -np 8 -n 1");
  EXPECT_TRUE(options.standalone);
  EXPECT_EQ(options.node_rank.value, std::nullopt);
  EXPECT_EQ(options.master_addr.value, std::nullopt);
  EXPECT_EQ(options.master_port.value, std::nullopt);
  EXPECT_EQ(options.rdzv_backend.value, "c10d");
  EXPECT_EQ(options.arguments.size(), 4u);
  EXPECT_TRUE(good("toprun s", {{"PET_STANDALONE", "1"}}).standalone);
  EXPECT_FALSE(good("toprun s", {{"PET_STANDALONE", ""}}).standalone);
  EXPECT_EQ(error_of("toprun --standalone --nnodes 4 s"),
            "--standalone is for one node, but --nnodes says 4; drop --standalone");
  EXPECT_EQ(error_of("toprun s", {{"PET_STANDALONE", "1"}, {"PET_NNODES", "2"}}),
            "PET_STANDALONE is for one node, but PET_NNODES says 2; drop PET_STANDALONE");
  EXPECT_EQ(error_of("toprun s", {{"PET_STANDALONE", "maybe"}}),
            "PET_STANDALONE=maybe: must be 1 or 0");
}

TEST(RunOptions, WhatIsRun) {
  EXPECT_EQ(good("toprun -m a.b").program, launch::Program::module);
  EXPECT_EQ(good("toprun --no-python a").program, launch::Program::executable);
  EXPECT_EQ(error_of("toprun -m --no-python a"),
            "-m and --no-python contradict each other; give only one of them");
  EXPECT_EQ(error_of("toprun --nnodes 2"), "no script given; toprun -h shows how");
  EXPECT_EQ(error_of("torchrun"), "no script given; torchrun -h shows how");
}

TEST(RunOptions, EmptyWordsOfUnsetShellVariables) {
  const Environment none;
  const std::vector<std::string> argv = {"toprun", "--rdzv-endpoint", "", "--log-dir",
                                         "",       "--local-addr",    "", "s"};
  const auto result = run_options(*split(argv), argv, none, [](const auto&) { return false; });
  ASSERT_TRUE(result);
  EXPECT_EQ(result->options.rdzv_endpoint.value, std::nullopt);
  EXPECT_EQ(result->options.log_dir, std::nullopt);
  EXPECT_EQ(result->options.local_addr, std::nullopt);
}

TEST(RunOptions, WhatThisVersionCannotDo) {
  EXPECT_EQ(error_of("toprun --max-restarts 3 s"),
            "--max-restarts 3: this version of toprun does not restart workers; use --max-restarts "
            "0");
  EXPECT_EQ(error_of("toprun --max-restarts -1 s"),
            "--max-restarts -1: must be a number from 0 to 2147483647");
  EXPECT_EQ(error_of("toprun --nnodes 2 --rdzv-endpoint a:0 s"),
            "--rdzv-endpoint: port 0 is for one node only; choose a port");
  EXPECT_EQ(error_of("toprun --nnodes 2 --master-port 0 s"),
            "--master-port: port 0 is for one node only; choose a port");
  EXPECT_EQ(
      good("toprun --rdzv-backend c10d --rdzv-endpoint localhost:0 s").rdzv_endpoint.value->port,
      0);
}

TEST(RunOptions, NotesOnWhatHasNoEffect) {
  using Notes = std::vector<std::string>;
  EXPECT_EQ(parse("toprun --nnodes 1 s")->notes, Notes{});
  EXPECT_EQ(parse("toprun --monitor-interval 5 s")->notes,
            Notes{"--monitor-interval 5 has no effect: toprun learns of a worker's end at once"});
  EXPECT_EQ(parse("toprun s", {{"PET_START_METHOD", "fork"}})->notes,
            Notes{"PET_START_METHOD=fork has no effect: toprun starts every worker as a program of "
                  "its own"});
  EXPECT_EQ(parse("toprun s", {{"PET_LOCAL_RANKS_FILTER", "0"}, {"PET_RUN_PATH", "0"}})->notes,
            Notes{"PET_LOCAL_RANKS_FILTER=0 has no effect: this version of toprun does not have "
                  "--local-ranks-filter"});
}

}  // namespace
}  // namespace toprun::cli
