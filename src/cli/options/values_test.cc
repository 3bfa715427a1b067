#include "cli/options/values.h"

#include <gtest/gtest.h>
#include <signal.h>

namespace toprun::options {
namespace {

using plan::Order;

Argument argument(std::string value) {
  return {"--flag", std::move(value), false};
}

TEST(Values, LabelsShowWhereTheValueStands) {
  EXPECT_EQ((Argument{"--nnodes", "x", false}).label(), "--nnodes x");
  EXPECT_EQ((Argument{"--nnodes", "", false}).label(), "--nnodes ''");
  EXPECT_EQ((Argument{"PET_NNODES", "x", true}).label(), "PET_NNODES=x");
}

TEST(Values, ProcessesPerNode) {
  for (const char* good : {"1", "8", "100000", "cpu", "gpu", "auto"}) {
    EXPECT_EQ(parse_processes_per_node(argument(good)), good);
  }
  EXPECT_EQ(parse_processes_per_node(argument("08")), "8");
  for (const char* bad :
       {"0", "-1", "x", "", " 4", "4.0", "100001", "GPU", "99999999999999999999"}) {
    const auto result = parse_processes_per_node(argument(bad));
    ASSERT_FALSE(result) << bad;
    EXPECT_EQ(result.error()->exit_code, exit_usage);
    EXPECT_EQ(result.error()->what, argument(bad).label());
    EXPECT_EQ(result.error()->why, "must be a number from 1 to 100000, cpu, gpu or auto");
  }
  EXPECT_EQ(parse_processes_per_node(argument("xpu")).error().line(),
            "--flag xpu: toprun cannot detect the number of XPUs; give the number of processes");
}

TEST(Values, NodeCount) {
  struct Case {
    std::string text;
    int least, most;
  };
  for (const Case& c : {Case{"4", 4, 4}, Case{"4:4", 4, 4}, Case{"1:8", 1, 8}}) {
    const auto count = parse_node_count(argument(c.text));
    ASSERT_TRUE(count) << c.text;
    EXPECT_EQ(count->least, c.least) << c.text;
    EXPECT_EQ(count->most, c.most) << c.text;
  }
  const std::string one = "must be a number of nodes from 1 to 1000000, or MIN:MAX";
  const std::string end = ", and must be a number of nodes from 1 to 1000000";
  const std::vector<std::pair<std::string, std::string>> bad = {
      {"", one},
      {"0", one},
      {"-1", one},
      {"x", one},
      {"1000001", one},
      {"99999999999999999999", one},
      {"1:2:3", "must be N or MIN:MAX"},
      {"4:2", "MIN is greater than MAX"},
      {"0:4", "MIN is \"0\"" + end},
      {"-1:4", "MIN is \"-1\"" + end},
      {":4", "MIN is \"\"" + end},
      {"1:", "MAX is \"\"" + end},
      {"1:x", "MAX is \"x\"" + end},
      {"1:1000001", "MAX is \"1000001\"" + end},
  };
  for (const auto& [text, why] : bad) {
    const auto result = parse_node_count(argument(text));
    ASSERT_FALSE(result) << text;
    EXPECT_EQ(result.error()->why, why) << text;
  }
}

TEST(Values, Backend) {
  EXPECT_EQ(parse_backend(argument("static")), "static");
  EXPECT_EQ(parse_backend(argument("c10d")), "c10d");
  for (const char* etcd : {"etcd", "etcd-v2"}) {
    EXPECT_EQ(parse_backend(argument(etcd)).error()->why, "toprun needs no etcd");
  }
  for (const char* plugin : {"", "zeus", "C10D"}) {
    EXPECT_EQ(parse_backend(argument(plugin)).error()->why,
              "toprun supports the backends static and c10d, but no rendezvous code in Python");
  }
}

TEST(Values, Endpoint) {
  struct Case {
    std::string text, host;
    std::optional<int> port;
  };
  const std::vector<Case> good = {{"host", "host", std::nullopt},
                                  {"host:29400", "host", 29400},
                                  {" a.b-c_d.example:1 ", "a.b-c_d.example", 1},
                                  {"10.0.0.1:65535", "10.0.0.1", 65535},
                                  {"localhost:0", "localhost", 0},
                                  {"[::1]", "::1", std::nullopt},
                                  {"[fe80::1%eth0]:29500", "fe80::1%eth0", 29500}};
  for (const Case& c : good) {
    const auto endpoint = parse_endpoint(argument(c.text));
    ASSERT_TRUE(endpoint) << c.text;
    EXPECT_EQ(endpoint->host, c.host) << c.text;
    EXPECT_EQ(endpoint->port, c.port) << c.text;
  }
  const std::vector<std::pair<std::string, std::string>> bad = {
      {"host:", "the port \"\" is not a number from 0 to 65535"},
      {"host:x", "the port \"x\" is not a number from 0 to 65535"},
      {"host:65536", "the port \"65536\" is not a number from 0 to 65535"},
      {"host:-1", "the port \"-1\" is not a number from 0 to 65535"},
      {"[::1]:99999", "the port \"99999\" is not a number from 0 to 65535"},
      {"::1", "an IPv6 address needs brackets"},
      {"10.1.1.1 fd00::5:29500", "the value contains a blank, so it names 2 hosts"},
      {"fe80::1:29500", "an IPv6 address needs brackets"},
      {"[::1", "a ] is missing after the ["},
      {"[::1]29500", "must be [ADDRESS]:PORT"},
      {"[]:1", "must be HOST:PORT, with a host name or an address"},
      {":29500", "must be HOST:PORT, with a host name or an address"},
      {"", "must be HOST:PORT, with a host name or an address"},
      {"ho st:1", "the value contains a blank, so it names 2 hosts"},
      {"tcp://host:1", "must be HOST:PORT, not a URL"},
  };
  for (const auto& [text, why] : bad) {
    const auto endpoint = parse_endpoint(argument(text));
    ASSERT_FALSE(endpoint) << text;
    EXPECT_EQ(endpoint.error()->why, why) << text;
  }
}

TEST(Values, Host) {
  EXPECT_EQ(parse_host(argument("n0")), "n0");
  EXPECT_EQ(parse_host(argument("[::1]")), "::1");
  EXPECT_EQ(parse_host(argument("fe80::1")), "fe80::1");
  for (const char* bad : {"", "a b", "http://x", "n0:29500", "[]"}) {
    EXPECT_FALSE(parse_host(argument(bad))) << bad;
  }
}

TEST(Values, Streams) {
  const auto streams = parse_streams(argument("0:3,17:1"));
  ASSERT_TRUE(streams);
  EXPECT_EQ(streams->of(0), 3u);
  EXPECT_EQ(streams->of(17), 1u);
  EXPECT_EQ(streams->of(1), 0u);
  EXPECT_EQ(parse_streams(argument("3"))->of(5), 3u);
  EXPECT_EQ(parse_streams(argument("0:1,0:2"))->of(0), 2u);  // the last counts, as in torchrun
  const std::string form = "0 (none), 1 (stdout), 2 (stderr) or 3 (both)";
  for (const char* bad : {"", "4", "9", "-1", "x", "1,2", "99999999999999999999"}) {
    const auto result = parse_streams(argument(bad));
    ASSERT_FALSE(result) << bad;
    EXPECT_EQ(result.error()->why,
              "must be " + form + ", or one of these for each local rank, as in 0:3,1:1");
  }
  const std::vector<std::pair<std::string, std::string>> bad_entries = {
      {"0:4", "0:4"},     {"0:", "0:"},     {":1", ":1"},       {"0:1,", ""},
      {"0:1:2", "0:1:2"}, {"-1:1", "-1:1"}, {"0:1,1:x", "1:x"}, {"0:1,100000:1", "100000:1"}};
  for (const auto& [text, entry] : bad_entries) {
    const auto result = parse_streams(argument(text));
    ASSERT_FALSE(result) << text;
    EXPECT_EQ(result.error()->why,
              fmt::format("\"{}\" must be a local rank, a colon and {}", entry, form));
  }
}

TEST(Values, LocalRanks) {
  EXPECT_EQ(parse_local_ranks(argument("3,0, 3,12")), (std::vector<int>{0, 3, 12}));
  for (const char* bad : {"", ",", "0,", "-1", "x", "1;2", "0-3", "100000"}) {
    EXPECT_FALSE(parse_local_ranks(argument(bad))) << bad;
  }
  EXPECT_EQ(parse_local_ranks(argument("0,x")).error().line(),
            "--flag 0,x: \"x\" must be a local rank from 0 to 99999");
}

// What torchrun's comma_separated_list makes of the same texts.
TEST(Values, Filters) {
  using Filters = std::vector<std::string>;
  const std::vector<std::pair<std::string, Filters>> good = {
      {"", {}},           {"loss", {"loss"}}, {"loss,step time", {"loss", "step time"}},
      {"a,,b", {"a,b"}},  {",,", {","}},      {"a,,,b", {"a,", "b"}},
      {",,,,a", {",,a"}},
  };
  for (const auto& [text, filters] : good)
    EXPECT_EQ(parse_filters(argument(text)), filters) << text;
  for (const char* bad : {",", "a,", ",a", ",,,"}) {
    ASSERT_FALSE(parse_filters(argument(bad))) << bad;
    EXPECT_EQ(parse_filters(argument(bad)).error()->why,
              "one of the filters is empty and would match every line");
  }
}

TEST(Values, PrefixTemplate) {
  const std::vector<std::pair<std::string, std::string>> good = {
      {"", ""},
      {"plain", "plain"},
      {"[${role_name}${local_rank}]:", "[${role_name}${local_rank}]:"},
      {"$rank@$hostname ", "${rank}@${hostname} "},
      {"$rank.", "${rank}."},
      {"5 $", "5 $"},
      {"$5 $$", "$5 $"},
  };
  for (const auto& [text, expected] : good) {
    EXPECT_EQ(parse_prefix_template(argument(text)), expected) << text;
  }
  const std::vector<std::pair<std::string, std::string>> bad = {
      {"${ran}", "unknown macro ${ran}"},    {"$ranks", "unknown macro ${ranks}"},
      {"${}", "unknown macro ${}"},          {"${RANK}", "unknown macro ${RANK}"},
      {"${rank", "a } is missing after ${"}, {"${rank }", "a } is missing after ${"},
  };
  for (const auto& [text, why] : bad) {
    ASSERT_FALSE(parse_prefix_template(argument(text))) << text;
    EXPECT_EQ(parse_prefix_template(argument(text)).error()->why, why) << text;
  }
  EXPECT_EQ(parse_prefix_template(argument("$x")).error()->fix,
            "the known macros are ${role_name}, ${local_rank}, ${rank}, ${hostname}");
}

TEST(Values, Size) {
  const std::vector<std::pair<std::string, std::uint64_t>> good = {
      {"1", 1},           {"500", 500},       {"4K", 4096},
      {"64M", 64u << 20}, {"3G", 3ull << 30}, {"16MiB", 16u << 20}};
  for (const auto& [text, bytes] : good) EXPECT_EQ(parse_size(argument(text)), bytes) << text;
  for (const char* bad : {"", "0", "-1", "x", "K", "1.5G", "1KB", "1 K", "1iB", "iB", "9999999999G",
                          "99999999999999999999"}) {
    EXPECT_FALSE(parse_size(argument(bad))) << bad;
  }
}

TEST(Values, Signals) {
  using Signals = std::vector<int>;
  EXPECT_EQ(parse_signals(argument("SIGTERM")), Signals{SIGTERM});
  EXPECT_EQ(parse_signals(argument("term, USR1,SIGUSR2,SigTerm")),
            (Signals{SIGTERM, SIGUSR1, SIGUSR2}));
  const std::vector<std::pair<std::string, std::string>> bad = {
      {"", "there is no signal \"\""},
      {"SIGTERM,", "there is no signal \"\""},
      {"SIGTERM,SIGFOO", "there is no signal \"SIGFOO\""},
      {"15", "there is no signal \"15\""},
      {"SIGTERM,kill", "SIGKILL cannot be caught"},
      {"STOP", "SIGSTOP cannot be caught"},
      {"SIGCHLD", "SIGCHLD reports the end of workers to toprun"},
      {"SIGSEGV", "SIGSEGV means that toprun itself is broken"},
  };
  for (const auto& [text, why] : bad) {
    ASSERT_FALSE(parse_signals(argument(text))) << text;
    EXPECT_EQ(parse_signals(argument(text)).error()->why, why) << text;
  }
}

TEST(Values, NumaBinding) {
  using worker::NumaBinding;
  EXPECT_EQ(parse_numa_binding(argument("node")), NumaBinding::node);
  EXPECT_EQ(parse_numa_binding(argument("socket")), NumaBinding::socket);
  EXPECT_EQ(parse_numa_binding(argument("exclusive")), NumaBinding::exclusive);
  EXPECT_EQ(parse_numa_binding(argument("core-complex")), NumaBinding::core_complex);
  for (const char* bad : {"", "nod", "NODE", "core_complex"}) {
    ASSERT_FALSE(parse_numa_binding(argument(bad))) << bad;
    EXPECT_EQ(parse_numa_binding(argument(bad)).error()->why,
              "must be node, socket, exclusive or core-complex");
  }
}

TEST(Values, ModulesToImport) {
  using Modules = std::vector<std::string>;
  for (const char* text : {"", "on", "true", "1"}) {
    EXPECT_EQ(**parse_imports(argument(text)), Modules({"torch"})) << text;
  }
  for (const char* text : {"off", "false", "0"})
    EXPECT_FALSE(*parse_imports(argument(text))) << text;
  EXPECT_EQ(**parse_imports(argument("torch, transformers,torch.distributed.checkpoint")),
            Modules({"torch", "transformers", "torch.distributed.checkpoint"}));
  for (const char* bad : {"torch,,numpy", ",", "-x", "a b", "../torch", "a;b"}) {
    ASSERT_FALSE(parse_imports(argument(bad))) << bad;
  }
}

TEST(Values, OrderOfNodes) {
  EXPECT_EQ(parse_order(argument("topology"))->order, Order::topology);
  EXPECT_EQ(parse_order(argument("name"))->order, Order::name);
  EXPECT_EQ(parse_order(argument("scheduler"))->order, Order::scheduler);
  EXPECT_EQ(parse_order(argument("given"))->order, Order::given);
  const auto file = parse_order(argument("file:a/b:c"));
  ASSERT_TRUE(file);
  EXPECT_EQ(file->order, Order::file);
  EXPECT_EQ(file->file, "a/b:c");
  for (const char* bad : {"", "file", "file:", "Topology", "automatic"}) {
    EXPECT_FALSE(parse_order(argument(bad))) << bad;
  }
}

TEST(Values, Switches) {
  for (const char* on : {"1", "true", "Yes", "2", "-1"})
    EXPECT_EQ(parse_switch(argument(on)), true) << on;
  for (const char* off : {"0", "00", "false", "", " "})
    EXPECT_EQ(parse_switch(argument(off)), false) << off;
  EXPECT_EQ(parse_switch({"PET_STANDALONE", "maybe", true}).error().line(),
            "PET_STANDALONE=maybe: must be 1 or 0");
}

}  // namespace
}  // namespace toprun::options
