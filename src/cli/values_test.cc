#include "cli/values.h"

#include <gtest/gtest.h>

namespace toprun::cli {
namespace {

using launch::Order;

Given given(std::string value) {
  return {"--flag", std::move(value), false};
}

TEST(Values, LabelsShowWhereTheValueStands) {
  EXPECT_EQ((Given{"--nnodes", "x", false}).label(), "--nnodes x");
  EXPECT_EQ((Given{"--nnodes", "", false}).label(), "--nnodes ''");
  EXPECT_EQ((Given{"PET_NNODES", "x", true}).label(), "PET_NNODES=x");
}

TEST(Values, ProcessesPerNode) {
  for (const char* good : {"1", "8", "100000", "cpu", "gpu", "auto"}) {
    EXPECT_EQ(parse_processes_per_node(given(good)), good);
  }
  EXPECT_EQ(parse_processes_per_node(given("08")), "8");
  for (const char* bad :
       {"0", "-1", "x", "", " 4", "4.0", "100001", "GPU", "99999999999999999999"}) {
    const auto result = parse_processes_per_node(given(bad));
    ASSERT_FALSE(result) << bad;
    EXPECT_EQ(result.error().exit_code, exit_usage);
    EXPECT_EQ(result.error().what, given(bad).label());
    EXPECT_EQ(result.error().why, "must be a number from 1 to 100000, cpu, gpu or auto");
  }
  EXPECT_EQ(parse_processes_per_node(given("xpu")).error().line(),
            "--flag xpu: toprun cannot count XPUs; give their number");
}

TEST(Values, NodeCount) {
  EXPECT_EQ(parse_node_count(given("4")), 4);
  EXPECT_EQ(parse_node_count(given("4:4")), 4);
  for (const char* bad : {"", "0", "-1", "x", "4:2", "1:2:3", "1:", ":", "0:4", "1000001"}) {
    const auto result = parse_node_count(given(bad));
    ASSERT_FALSE(result) << bad;
    EXPECT_EQ(result.error().why, "must be a number of nodes from 1 to 1000000") << bad;
  }
  EXPECT_EQ(
      parse_node_count(given("1:4")).error().line(),
      "--flag 1:4: this version of toprun cannot run with a varying number of nodes; give one "
      "number");
}

TEST(Values, Backend) {
  EXPECT_EQ(parse_backend(given("static")), "static");
  EXPECT_EQ(parse_backend(given("c10d")), "c10d");
  for (const char* etcd : {"etcd", "etcd-v2"}) {
    EXPECT_EQ(parse_backend(given(etcd)).error().why, "toprun needs no etcd");
  }
  EXPECT_EQ(parse_backend(given("")).error().why, "must be static or c10d");
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
    const auto endpoint = parse_endpoint(given(c.text));
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
      {"::1", "an IPv6 address stands in brackets"},
      {"fe80::1:29500", "an IPv6 address stands in brackets"},
      {"[::1", "a ] is missing after the ["},
      {"[::1]29500", "must be [ADDRESS]:PORT"},
      {"[]:1", "must be HOST:PORT, with a host name or an address"},
      {":29500", "must be HOST:PORT, with a host name or an address"},
      {"", "must be HOST:PORT, with a host name or an address"},
      {"ho st:1", "must be HOST:PORT, with a host name or an address"},
      {"tcp://host:1", "must be HOST:PORT, not a URL"},
  };
  for (const auto& [text, why] : bad) {
    const auto endpoint = parse_endpoint(given(text));
    ASSERT_FALSE(endpoint) << text;
    EXPECT_EQ(endpoint.error().why, why) << text;
  }
}

TEST(Values, Host) {
  EXPECT_EQ(parse_host(given("n0")), "n0");
  EXPECT_EQ(parse_host(given("[::1]")), "::1");
  EXPECT_EQ(parse_host(given("fe80::1")), "fe80::1");
  for (const char* bad : {"", "a b", "http://x", "n0:29500", "[]"}) {
    EXPECT_FALSE(parse_host(given(bad))) << bad;
  }
}

TEST(Values, RendezvousSettings) {
  using Settings = std::map<std::string, std::string>;
  EXPECT_EQ(parse_rendezvous_settings(given("")), Settings());
  EXPECT_EQ(parse_rendezvous_settings(given("is_host=True, join_timeout = 60,store_type=TCP")),
            (Settings{{"is_host", "1"}, {"join_timeout", "60"}, {"store_type", "tcp"}}));
  EXPECT_EQ(parse_rendezvous_settings(given("is_host=no")), (Settings{{"is_host", "0"}}));
  const std::vector<std::pair<std::string, std::string>> bad = {
      {"join_timout=1",
       "--flag join_timout=1: unknown key join_timout; did you mean join_timeout?"},
      {"is_host", "--flag is_host: \"is_host\" is not KEY=VALUE"},
      {"is_host=1,", "--flag is_host=1,: \"\" is not KEY=VALUE"},
      {"=1", "--flag =1: \"=1\" is not KEY=VALUE"},
      {"is_host=maybe", "--flag is_host=maybe: is_host=maybe must be 1 or 0"},
      {"store_type=file",
       "--flag store_type=file: store_type=file is not supported; use store_type=tcp or leave it "
       "out"},
      {"timeout=0", "--flag timeout=0: timeout=0 must be a whole number of at least 1"},
      {"timeout=", "--flag timeout=: timeout= must be a whole number of at least 1"},
  };
  for (const auto& [text, line] : bad) {
    const auto settings = parse_rendezvous_settings(given(text));
    ASSERT_FALSE(settings) << text;
    EXPECT_EQ(settings.error().line(), line);
  }
  EXPECT_TRUE(
      parse_rendezvous_settings(given("zzz=1")).error().fix.starts_with("known are is_host"));
}

TEST(Values, Streams) {
  const auto streams = parse_streams(given("0:3,17:1"));
  ASSERT_TRUE(streams);
  EXPECT_EQ(streams->of(0), 3u);
  EXPECT_EQ(streams->of(17), 1u);
  EXPECT_EQ(streams->of(1), 0u);
  EXPECT_EQ(parse_streams(given("3"))->of(5), 3u);
  for (const char* bad : {"", "4", "-1", "x", "0:4", "0:", ":1", "0:1,", "0:1:2", "-1:1", "1,2"}) {
    EXPECT_FALSE(parse_streams(given(bad))) << bad;
  }
}

TEST(Values, OrderOfNodes) {
  EXPECT_EQ(parse_order(given("topology"))->order, Order::topology);
  EXPECT_EQ(parse_order(given("name"))->order, Order::name);
  EXPECT_EQ(parse_order(given("scheduler"))->order, Order::scheduler);
  EXPECT_EQ(parse_order(given("given"))->order, Order::given);
  const auto file = parse_order(given("file:a/b:c"));
  ASSERT_TRUE(file);
  EXPECT_EQ(file->order, Order::file);
  EXPECT_EQ(file->file, "a/b:c");
  for (const char* bad : {"", "file", "file:", "Topology", "automatic"}) {
    EXPECT_FALSE(parse_order(given(bad))) << bad;
  }
}

TEST(Values, Switches) {
  for (const char* on : {"1", "true", "Yes"}) EXPECT_EQ(parse_switch(given(on)), true) << on;
  for (const char* off : {"0", "false", "", " "}) EXPECT_EQ(parse_switch(given(off)), false) << off;
  EXPECT_EQ(parse_switch({"PET_STANDALONE", "maybe", true}).error().line(),
            "PET_STANDALONE=maybe: must be 1 or 0");
}

}  // namespace
}  // namespace toprun::cli
