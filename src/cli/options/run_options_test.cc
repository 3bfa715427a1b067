#include "cli/options/run_options.h"

#include <gtest/gtest.h>
#include <signal.h>

#include "base/text/text.h"

namespace toprun::options {
namespace {

using plan::Options;
using plan::Order;

Result<RunOptions> parse(std::string_view line, const Environment& environment = {}) {
  std::vector<std::string> argv;
  for (const std::string_view word : words(line)) argv.emplace_back(word);
  const auto parts = split(argv);
  if (!parts) return std::unexpected(parts.error());
  return run_options(*parts, argv, environment,
                     [](const std::string& path) { return path == "racks.toml"; });
}

Options good_options(std::string_view line, const Environment& environment = {}) {
  auto result = parse(line, environment);
  EXPECT_TRUE(result) << line << " → " << (result ? "" : result.error().line());
  return result ? result->options : Options{};
}

std::string error_of(std::string_view line, const Environment& environment = {}) {
  const auto result = parse(line, environment);
  EXPECT_FALSE(result) << line;
  if (result) return {};
  EXPECT_EQ(result.error()->exit_code, exit_usage);
  return result.error().line();
}

TEST(RunOptions, Defaults) {
  const Options options = good_options("toprun s a b");
  EXPECT_EQ(options.script, "s");
  EXPECT_EQ(options.arguments, (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(options.command_line, (std::vector<std::string>{"toprun", "s", "a", "b"}));
  EXPECT_EQ(options.program, plan::Program::script);
  EXPECT_EQ(options.nnodes.value, std::nullopt);
  EXPECT_FALSE(options.nnodes.is_set());
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
  const Options options = good_options("torchrun s");
  EXPECT_TRUE(options.called_torchrun);
  EXPECT_EQ(options.nproc_per_node.value, "1");
  EXPECT_FALSE(options.nproc_per_node.is_set());
}

TEST(RunOptions, CommandLineBeforeVariableBeforeDefault) {
  const Environment environment = {
      {"PET_NNODES", "2"}, {"PET_ROLE", "r"}, {"PET_NPROC_PER_NODE", ""}};
  EXPECT_EQ(good_options("toprun s", environment).nnodes.value, 2);
  EXPECT_EQ(good_options("toprun s", environment).nnodes.source, "PET_NNODES");
  EXPECT_EQ(good_options("toprun --nnode 4 --nno=3 s", environment).nnodes.value, 3);
  EXPECT_EQ(good_options("toprun --nnode 4 --nno=3 s", environment).nnodes.source, "--nnodes");
  EXPECT_EQ(good_options("toprun s", environment).role, "r");
  EXPECT_FALSE(good_options("toprun s", environment).nproc_per_node.is_set());
  EXPECT_EQ(error_of("toprun s", {{"PET_NNODES", "x"}}),
            "PET_NNODES=x: must be a number of nodes from 1 to 1000000, or MIN:MAX");
  EXPECT_EQ(good_options("toprun --nnodes 1 s", {{"PET_NNODES", "x"}}).nnodes.value, 1);
}

TEST(RunOptions, EveryVariableOfTorchrunIsRead) {
  const Options options = good_options("toprun s", {{"PET_NNODES", "2"},
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
                                                    {"PET_MAX_RESTARTS", "4"},
                                                    {"PET_STANDALONE", "0"},
                                                    {"PET_RUN_PATH", "0"},
                                                    {"PET_VIRTUAL_LOCAL_RANK", "1"},
                                                    {"PET_SIGNALS_TO_HANDLE", "SIGUSR1"},
                                                    {"PET_SHUTDOWN_TIMEOUT", "7"},
                                                    {"PET_LOG_LINE_PREFIX_TEMPLATE", "${rank} "},
                                                    {"PET_LOCAL_RANKS_FILTER", "1,2"},
                                                    {"PET_DUPLICATE_STDOUT_FILTERS", "a"},
                                                    {"PET_DUPLICATE_STDERR_FILTERS", "b,c"},
                                                    {"PET_EVENT_LOG_HANDLER", "null"}});
  EXPECT_EQ(options.nproc_per_node.value, "gpu");
  EXPECT_EQ(options.master_addr.value, "n0");
  EXPECT_EQ(options.master_port.value, 1234);
  EXPECT_EQ(options.rdzv_backend.value, "c10d");
  EXPECT_EQ(options.rdzv_endpoint.value->host, "n1");
  EXPECT_EQ(options.rdzv_id.value, "job");
  EXPECT_EQ(options.rdzv_conf.at("is_host"), "1");
  EXPECT_EQ(options.local_addr, "n2");
  EXPECT_EQ(options.program, plan::Program::module);
  EXPECT_EQ(options.log_dir, "logs");
  EXPECT_EQ(options.redirects.of(0), 1u);
  EXPECT_EQ(options.tee.of(0), 2u);
  EXPECT_EQ(options.max_restarts, 4);
  EXPECT_TRUE(options.virtual_local_rank);
  EXPECT_EQ(options.signals_to_handle.value, std::vector<int>{SIGUSR1});
  EXPECT_TRUE(options.signals_to_handle.is_set());
  EXPECT_EQ(options.shutdown_timeout, std::chrono::seconds(7));
  EXPECT_EQ(options.prefix_template, "${rank} ");
  EXPECT_EQ(options.local_ranks_filter, (std::vector<int>{1, 2}));
  EXPECT_EQ(options.duplicate_stdout_filters, std::vector<std::string>{"a"});
  EXPECT_EQ(options.duplicate_stderr_filters, (std::vector<std::string>{"b", "c"}));
  EXPECT_EQ(options.option_variables.size(), 25u);
}

TEST(RunOptions, OurOwnVariablesAreNotReadAsTorchrun) {
  const Environment environment = {{"TOPRUN_ORDER", "name"}, {"TOPRUN_LOCATION", "/a"}};
  EXPECT_EQ(good_options("toprun s", environment).order, Order::name);
  EXPECT_EQ(good_options("toprun --order given s", environment).order, Order::given);
  EXPECT_EQ(good_options("torchrun s", environment).order, Order::automatic);
  EXPECT_EQ(good_options("torchrun s", environment).option_variables,
            (std::vector<std::string>{"TOPRUN_ORDER"}));
}

TEST(RunOptions, ANodeRankFromAVariableIsOnlyAnIndex) {
  const Options both = good_options("toprun --node-rank 1 s", {{"PET_NODE_RANK", "3"}});
  EXPECT_EQ(both.node_rank.value, 1);
  EXPECT_EQ(both.node_index.value, std::nullopt);
  const Options variable = good_options("toprun s", {{"PET_NODE_RANK", "3"}});
  EXPECT_EQ(variable.node_rank.value, std::nullopt);
  EXPECT_EQ(variable.node_index.value, 3);
  EXPECT_EQ(variable.node_index.source, "PET_NODE_RANK");
  EXPECT_EQ(error_of("toprun --nnodes 4 --node-rank 4 s"),
            "--node-rank 4: --nnodes says 4 nodes, so the node rank must be from 0 to 3");
}

TEST(RunOptions, WhatTheOrderIsToServe) {
  const Options options = good_options(
      "toprun --parallel tp=8,pp=4 --model 7B --traffic dp=2G --link rack=400,host=3200:2 s");
  ASSERT_TRUE(options.plan.has_value());
  EXPECT_EQ(options.plan->parameters, 7e9);
  EXPECT_EQ(options.plan->traffic.at(cost::Kind::dp), 2.0 * (1u << 30));
  EXPECT_EQ(options.plan->links.at("host").latency_us, 2.0);
  EXPECT_EQ(good_options("toprun s", {{"TOPRUN_PARALLEL", "tp=2"}}).plan->links.size(), 0u);
  EXPECT_EQ(error_of("toprun --link rack=4 s"),
            "--link: it needs --parallel; add "
            "--parallel tp=8,pp=4 or leave this option out");
  EXPECT_EQ(error_of("toprun --model 7B s"),
            "--model: it needs --parallel; add --parallel "
            "tp=8,pp=4 or leave this option out");
  EXPECT_TRUE(good_options("toprun --order topology --parallel tp=2 s").plan.has_value());
  EXPECT_EQ(error_of("toprun --order name --parallel tp=2 s"),
            "--order and --parallel: both decide the order of the nodes; leave one of them out, "
            "or use --order topology");
  EXPECT_EQ(error_of("toprun --parallel tp=2 --segment 2 s"),
            "--segment and --parallel: both decide which nodes are neighbours; leave one of "
            "them out");
}

TEST(RunOptions, WhereThePageIs) {
  struct Row {
    std::string words;
    std::string host;
    int port;
  };
  for (const Row& row :
       {Row{"toprun --web s", "127.0.0.1", 0}, Row{"toprun --web=8080 s", "127.0.0.1", 8080},
        Row{"toprun --web=127.0.0.2:80 s", "127.0.0.2", 80},
        Row{"toprun --web=localhost s", "127.0.0.1", 0},
        Row{"toprun --web=[::]:8080 s", "::", 8080},
        Row{"toprun --web=0.0.0.0:0 s", "0.0.0.0", 0}}) {
    const Options options = good_options(row.words);
    ASSERT_TRUE(options.web) << row.words;
    EXPECT_EQ(options.web->host, row.host) << row.words;
    EXPECT_EQ(options.web->port, row.port) << row.words;
    EXPECT_EQ(options.script, "s") << row.words;
  }
  EXPECT_FALSE(good_options("toprun s").web);
  for (const std::string value : {"x", "x:80", "127.0.0.1:x", "127.0.0.1:65536", "99999",
                                  "http://127.0.0.1:1", "[::1", "::1:80"}) {
    EXPECT_NE(error_of("toprun --web=" + value + " s").find("--web"), std::string::npos) << value;
  }
  EXPECT_EQ(good_options("toprun s", {{"TOPRUN_WEB", "8080"}}).web->port, 8080);
}

TEST(RunOptions, OptionsOfOurOwn) {
  const Options options = good_options(
      "toprun --order file:hosts --topology racks.toml --topology-required --segment 4 --stable "
      "--ranks-in-place "
      "--prefix --gather-output --fold --log-max-size 2K --no-preflight --no-progress "
      "--report r.json --dry-run -vv s");
  EXPECT_TRUE(options.gather_output);
  EXPECT_TRUE(options.fold);
  EXPECT_EQ(options.log_max_bytes, 2048u);
  EXPECT_FALSE(options.preflight);
  EXPECT_FALSE(options.progress);
  EXPECT_TRUE(good_options("toprun s").progress);
  EXPECT_TRUE(good_options("toprun s").preflight);
  EXPECT_FALSE(good_options("toprun s", {{"TOPRUN_NO_PREFLIGHT", "1"}}).preflight);
  EXPECT_TRUE(good_options("toprun s", {{"TOPRUN_FOLD", "1"}}).fold);
  EXPECT_TRUE(good_options("toprun s", {{"TOPRUN_GATHER_OUTPUT", "1"}}).gather_output);
  EXPECT_EQ(good_options("toprun s", {{"TOPRUN_LOG_MAX_SIZE", "1M"}}).log_max_bytes, 1u << 20);
  EXPECT_EQ(options.order, Order::file);
  EXPECT_EQ(options.order_file, "hosts");
  EXPECT_EQ(options.topology, "racks.toml");
  EXPECT_TRUE(options.topology_required);
  EXPECT_EQ(options.segment, 4u);
  EXPECT_FALSE(options.plan.has_value());
  EXPECT_TRUE(options.stable);
  EXPECT_TRUE(options.ranks_in_place);
  EXPECT_TRUE(options.prefix);
  EXPECT_EQ(options.report, "r.json");
  EXPECT_TRUE(options.dry_run);
  EXPECT_EQ(options.verbose, 2);
  EXPECT_EQ(good_options("toprun --topology slurm s").topology, "slurm");
  EXPECT_EQ(good_options("toprun --topology gcp s").topology, "gcp");
  EXPECT_EQ(good_options("toprun --topology azure s").topology, "azure");
  EXPECT_EQ(error_of("toprun --topology ibm s"),
            "--topology ibm: it is neither a file nor the name of a topology source; the sources "
            "are auto, "
            "slurm, k8s, gcp, oci, aws, azure, name:REGEX, nvlink");
  EXPECT_EQ(error_of("toprun --topology - s"),
            "--topology -: a launch reads the topology several times, and this input can be read "
            "only once; save the topology in a file");
  EXPECT_EQ(good_options("toprun --topology name:(?<rack>r.) s").topology, "name:(?<rack>r.)");
}

TEST(RunOptions, Hosts) {
  const Environment both = {{"TOPRUN_HOSTS", "a"}, {"TOPRUN_HOSTFILE", "f"}};
  struct Case {
    std::string_view line;
    Environment environment;
    std::string hosts, file;  // each with where it came from
  };
  const Case cases[] = {
      {"toprun s", {}, "", ""},
      {"toprun --hosts a,b[3-9]:4 s", {}, "--hosts a,b[3-9]:4", ""},
      {"toprun --hostfile f s", {}, "", "--hostfile f"},
      {"toprun s", {{"TOPRUN_HOSTS", "a"}}, "TOPRUN_HOSTS a", ""},
      {"toprun --hostfile g s", both, "", "--hostfile g"},
      {"toprun --hosts b s", both, "--hosts b", ""},
      {"torchrun s", both, "", ""},
  };
  const auto shown = [](const plan::Setting<std::string>& setting) {
    return setting.is_set() ? setting.source + " " + setting.value : "";
  };
  for (const auto& [line, environment, hosts, file] : cases) {
    const Options options = good_options(line, environment);
    EXPECT_EQ(shown(options.hosts), hosts) << line;
    EXPECT_EQ(shown(options.host_file), file) << line;
  }
  EXPECT_EQ(error_of("toprun --hosts a --hostfile f s"),
            "--hosts and --hostfile: both name the hosts; give only one of them");
  EXPECT_EQ(error_of("toprun s", both),
            "TOPRUN_HOSTS and TOPRUN_HOSTFILE: both name the hosts; give only one of them");
  EXPECT_EQ(error_of("toprun --hosts= s"), "--hosts '': must not be empty");
}

TEST(RunOptions, Standalone) {
  const Options options = good_options(
      "torchrun --standalone --nnodes 1 --nproc_per_node 8 --node_rank 3 --master_addr n0 "
      "--master_port 29400 train.py -np 8 -n 1");
  EXPECT_TRUE(options.standalone);
  EXPECT_EQ(options.node_rank.value, std::nullopt);
  EXPECT_EQ(options.master_addr.value, std::nullopt);
  EXPECT_EQ(options.master_port.value, std::nullopt);
  EXPECT_EQ(options.rdzv_backend.value, "c10d");
  EXPECT_EQ(options.arguments.size(), 4u);
  EXPECT_TRUE(good_options("toprun s", {{"PET_STANDALONE", "1"}}).standalone);
  EXPECT_FALSE(good_options("toprun s", {{"PET_STANDALONE", ""}}).standalone);
  EXPECT_EQ(error_of("toprun --standalone --nnodes 4 s"),
            "--standalone is for one node, but --nnodes says 4; drop --standalone");
  EXPECT_EQ(error_of("toprun s", {{"PET_STANDALONE", "1"}, {"PET_NNODES", "2"}}),
            "PET_STANDALONE is for one node, but PET_NNODES says 2; drop PET_STANDALONE");
  EXPECT_EQ(error_of("toprun s", {{"PET_STANDALONE", "maybe"}}),
            "PET_STANDALONE=maybe: must be 1 or 0");
}

TEST(RunOptions, WhatIsRun) {
  EXPECT_EQ(good_options("toprun -m a.b").program, plan::Program::module);
  EXPECT_EQ(good_options("toprun --no-python a").program, plan::Program::executable);
  EXPECT_EQ(good_options("toprun --run-path --no-python -m a").program, plan::Program::script);
  EXPECT_EQ(error_of("toprun -m --no-python a"),
            "-m and --no-python contradict each other; give only one of them");
  EXPECT_EQ(error_of("toprun --nnodes 2"), "no script given; toprun -h shows the usage");
  EXPECT_EQ(error_of("torchrun"), "no script given; torchrun -h shows the usage");
}

TEST(RunOptions, EmptyWordsOfUnsetShellVariables) {
  const Environment none;
  const std::vector<std::string> argv = {"toprun", "--rdzv-endpoint",
                                         "",       "--rdzv-id",
                                         "",       "--log-dir",
                                         "",       "--local-addr",
                                         "",       "--local-ranks-filter",
                                         "",       "--duplicate-stdout-filters",
                                         "",       "--log-line-prefix-template",
                                         "",       "s"};
  const auto result = run_options(*split(argv), argv, none, [](const auto&) { return false; });
  ASSERT_TRUE(result);
  EXPECT_EQ(result->options.rdzv_endpoint.value, std::nullopt);
  EXPECT_EQ(result->options.rdzv_id.value, "none");
  EXPECT_FALSE(result->options.rdzv_id.is_set());
  EXPECT_EQ(result->options.log_dir, std::nullopt);
  EXPECT_EQ(result->options.local_addr, std::nullopt);
  EXPECT_EQ(result->options.local_ranks_filter, std::nullopt);
  EXPECT_TRUE(result->options.duplicate_stdout_filters.empty());
}

TEST(RunOptions, NumberOfNodes) {
  EXPECT_EQ(good_options("toprun --nnodes 2:4 s").nnodes.value, 4);
  EXPECT_EQ(good_options("toprun --nnodes 2:4 s").min_nodes, 2);
  EXPECT_EQ(good_options("toprun --nnodes 2:4 s").nnodes.source, "--nnodes");
  EXPECT_EQ(good_options("toprun --nnodes 4:4 s").min_nodes, std::nullopt);
  EXPECT_EQ(good_options("toprun --nnodes 4 s").min_nodes, std::nullopt);
  EXPECT_EQ(error_of("toprun --standalone --nnodes 1:2 s"),
            "--standalone is for one node, but --nnodes says 2; drop --standalone");
}

// Every flag with a value: nothing, no number or no such word, negative, too large.
TEST(RunOptions, BadValues) {
  const std::vector<std::pair<std::string, std::vector<std::string>>> cases = {
      {"--nnodes", {"", "x", "-1", "99999999999", "2:1"}},
      {"--nproc-per-node", {"", "x", "-1", "99999999999"}},
      {"--node-rank", {"", "x", "-1", "99999999999"}},
      {"--order", {"", "x", "-1", "99999999999"}},
      {"--topology", {"", "x", "-1", "99999999999"}},
      {"--numa-binding", {"", "x", "-1", "99999999999"}},
      {"--master-addr", {"", "a b", "a/b", "h:1"}},
      {"--master-port", {"", "x", "-1", "99999999999"}},
      {"--rdzv-endpoint", {"x:", "x:x", "x:-1", "x:99999999999"}},
      {"--rdzv-backend", {"", "x", "-1", "etcd-v2"}},
      {"--rdzv-conf", {"x", "timeout=", "timeout=1.5"}},
      {"--local-addr", {"a b", "h:1"}},
      {"--max-restarts", {"", "x", "-1", "99999999999"}},
      {"--grow", {"", "x", "later"}},
      {"--signals-to-handle", {"", "x", "-1", "99999999999"}},
      {"--shutdown-timeout", {"", "x", "-1", "99999999999", "1.5"}},
      {"--redirects", {"", "x", "-1", "99999999999", "9"}},
      {"--tee", {"", "x", "-1", "99999999999", "9"}},
      {"--log-line-prefix-template", {"${x}", "${rank"}},
      {"--local-ranks-filter", {"x", "-1", "99999999999"}},
      {"--duplicate-stdout-filters", {","}},
      {"--duplicate-stderr-filters", {","}},
      {"--log-max-size", {"", "x", "-1", "99999999999G"}},
      {"--report", {""}},
      {"--notify", {"", "ftp://h/x", "slack://u:p@h"}},
      {"--monitor-interval", {"", "x", "-1"}},
      {"--start-method", {"", "x", "-1", "99999999999"}},
      {"--event-log-handler", {"", "mine"}},
      {"--logs-specs", {"", "x"}},
  };
  for (const auto& [flag, values] : cases) {
    for (const std::string& value : values) {
      for (const auto& argv : {std::vector<std::string>{"toprun", flag, value, "s"},
                               std::vector<std::string>{"toprun", flag, "1", flag, value, "s"}}) {
        const auto result = run_options(*split(argv), argv, {}, [](const auto&) { return false; });
        ASSERT_FALSE(result) << join(argv, " ");
        EXPECT_EQ(result.error()->exit_code, exit_usage);
        EXPECT_TRUE(result.error()->what.starts_with(flag)) << result.error().line();
        EXPECT_FALSE(result.error()->why.empty()) << result.error().line();
      }
    }
  }
}

TEST(RunOptions, TheLastOfARepeatedFlagCounts) {
  EXPECT_EQ(good_options("toprun --nnodes x --nnodes 2 s").nnodes.value, 2);
  EXPECT_EQ(good_options("toprun --redirects 9 --redirects 3 s").redirects.of(0), 3u);
  EXPECT_EQ(good_options("toprun --shutdown-timeout -1 --shutdown-timeout 0 s").shutdown_timeout,
            std::chrono::seconds(0));
}

TEST(RunOptions, NewcomersAreTakenIn) {
  EXPECT_EQ(good_options("toprun s").grow, run::Grow::at_restart);
  EXPECT_EQ(good_options("toprun --grow at-restart s").grow, run::Grow::at_restart);
  EXPECT_EQ(good_options("toprun --grow=now s").grow, run::Grow::now);
  EXPECT_EQ(good_options("toprun --grow on-signal s").grow, run::Grow::on_signal);
  EXPECT_EQ(good_options("torchrun s").grow, run::Grow::now);
}

TEST(RunOptions, RestartsSignalsAndTheEnd) {
  EXPECT_EQ(good_options("toprun --max-restarts 2147483647 s").max_restarts, 2147483647);
  EXPECT_EQ(good_options("toprun s").signals_to_handle.value,
            (std::vector<int>{SIGTERM, SIGINT, SIGHUP, SIGQUIT}));
  EXPECT_FALSE(good_options("toprun s").signals_to_handle.is_set());
  EXPECT_EQ(good_options("toprun --signals-to-handle usr1,TERM s").signals_to_handle.value,
            (std::vector<int>{SIGUSR1, SIGTERM}));
}

TEST(RunOptions, OlderVariablesComeLast) {
  const Environment older = {{"TORCH_ELASTIC_SHUTDOWN_TIMEOUT", "5"},
                             {"TORCHELASTIC_LOG_LINE_PREFIX_TEMPLATE", "$rank "}};
  Environment both = older;
  both.set("PET_SHUTDOWN_TIMEOUT", "6");
  EXPECT_EQ(good_options("toprun s").shutdown_timeout, std::nullopt);
  EXPECT_EQ(good_options("toprun s", older).shutdown_timeout, std::chrono::seconds(5));
  EXPECT_EQ(good_options("torchrun s", older).prefix_template, "${rank} ");
  EXPECT_EQ(good_options("toprun s", both).shutdown_timeout, std::chrono::seconds(6));
  EXPECT_EQ(good_options("toprun --shutdown-timeout 0 s", both).shutdown_timeout,
            std::chrono::seconds(0));
  EXPECT_EQ(
      error_of("toprun s", {{"TORCH_ELASTIC_SHUTDOWN_TIMEOUT", "soon"}}),
      "TORCH_ELASTIC_SHUTDOWN_TIMEOUT=soon: must be a whole number of seconds from 0 to 604800");
  // They are PyTorch's: what the workers start may read them.
  EXPECT_EQ(good_options("toprun s", both).option_variables,
            std::vector<std::string>{"PET_SHUTDOWN_TIMEOUT"});
}

TEST(RunOptions, Ports) {
  EXPECT_EQ(error_of("toprun --nnodes 2 --rdzv-endpoint a:0 s"),
            "--rdzv-endpoint: port 0 is for one node only; choose a port");
  EXPECT_EQ(error_of("toprun --nnodes 2 --master-port 0 s"),
            "--master-port: port 0 is for one node only; choose a port");
  EXPECT_EQ(good_options("toprun --rdzv-backend c10d --rdzv-endpoint localhost:0 s")
                .rdzv_endpoint.value->port,
            0);
}

TEST(RunOptions, NotesOnWhatHasNoEffect) {
  using Notes = std::vector<std::string>;
  EXPECT_EQ(parse("toprun --nnodes 1 --event-log-handler null --run-path s")->notes, Notes{});
  EXPECT_EQ(parse("toprun --monitor-interval 0.5 s")->notes,
            Notes{"--monitor-interval 0.5 has no effect: toprun notices a worker's end at once"});
  EXPECT_EQ(
      parse("torchrun --event-log-handler console s")->notes,
      Notes{"--event-log-handler console has no effect: the file of --report contains the events"});
  EXPECT_EQ(parse("toprun --rdzv-conf rank=0,join_timeout=9 s")->notes,
            Notes{"--rdzv-conf: rank has no effect; --node-rank gives the rank of this node"});
  EXPECT_EQ(parse("toprun --rdzv-conf timeout=5' --rdzv-backend c10d s")->notes,
            Notes{"--rdzv-conf: timeout=5' has no effect; the value must be a whole number"});
  EXPECT_EQ(parse("toprun --on-hang abort --stage-to /x s")->notes,
            (Notes{"--on-hang has no effect without --hang-timeout",
                   "--stage-to has no effect without --stage"}));
  EXPECT_EQ(parse("toprun --on-hang abort --hang-timeout 9 s")->notes, Notes{});
  EXPECT_EQ(parse("toprun --on-hang restart --hang-timeout 9 s")->notes,
            Notes{"--on-hang restart restarts nothing without --max-restarts N: the job ends at a "
                  "hang"});
  EXPECT_EQ(parse("toprun --on-hang restart --hang-timeout 9 --max-restarts 1 s")->notes, Notes{});
  EXPECT_EQ(parse("toprun --use_env s")->notes,
            Notes{"--use-env has no effect: the workers' environment always contains LOCAL_RANK"});
  EXPECT_EQ(parse("toprun s", {{"PET_START_METHOD", "fork"}})->notes,
            Notes{"PET_START_METHOD=fork has no effect: toprun starts each worker as a program of "
                  "its own (with --warm, as a fork of one process)"});
}

TEST(RunOptions, LogsThatNobodyWants) {
  const auto parsed = parse("toprun --log-dir /dev/null --redirects 3 --tee 1 s");
  EXPECT_EQ(parsed->options.log_dir, std::nullopt);
  EXPECT_TRUE(parsed->options.redirects.empty());
  EXPECT_EQ(parsed->options.tee.of(0), 1u);
  EXPECT_EQ(parsed->notes, std::vector<std::string>{
                               "--redirects has no effect: --log-dir /dev/null keeps no files"});
  EXPECT_FALSE(good_options("toprun --log-dir logs --redirects 3 s").redirects.empty());
}

TEST(RunOptions, PluginsAreRefusedByName) {
  EXPECT_EQ(error_of("torchrun --event-log-handler mine s"),
            "--event-log-handler mine: toprun does not load Python code as torchrun does; leave it "
            "out: the file of --report contains the events");
  EXPECT_EQ(error_of("toprun --logs_specs mine s"),
            "--logs-specs mine: toprun does not load Python code as torchrun does; leave it out: "
            "--log-dir, --tee and --redirects decide where the output goes");
  EXPECT_EQ(error_of("toprun --rdzv-backend zeus s"),
            "--rdzv-backend zeus: toprun supports the backends static and c10d, but no rendezvous "
            "code in Python; "
            "use static or c10d");
}

}  // namespace
}  // namespace toprun::options
