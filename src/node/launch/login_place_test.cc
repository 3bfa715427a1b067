#include "node/launch/login_place.h"

#include <gtest/gtest.h>

#include "base/net/address.h"

namespace toprun::launch {
namespace {

Answered at(std::string name, std::string client, std::string server) {
  return {{std::move(name), std::nullopt}, false, std::move(client), std::move(server), {}};
}

Answered found_here(std::string name) {
  Answered answered = at(std::move(name), "", "");
  answered.here = true;
  return answered;
}

plan::Job job() {
  plan::Job job;
  job.place.engine = engines::EngineKind::ssh;
  job.options.command_line = {"/opt/bin/toprun", "--hosts", "a,b", "--dry-run", "train.py", "x"};
  job.options.script = "train.py";
  job.options.arguments = {"x"};
  return job;
}

// Of each agent, where it finds the root.
std::vector<std::string> addresses(const std::vector<Answered>& answered) {
  std::vector<std::string> found;
  for (const plan::LoginOrders& orders : orders_for(job(), answered)) {
    found.push_back(orders.variables.at("TOPRUN_LOGIN_ROOT_ADDRESS"));
  }
  return found;
}

TEST(LoginPlace, TheRootIsHereElseOnTheFirst) {
  EXPECT_EQ(root_among({at("a", "", ""), at("b", "", "")}), 0);
  EXPECT_EQ(root_among({at("a", "", ""), found_here("b"), at("c", "", "")}), 1);
}

TEST(LoginPlace, AMachineIsNamedOnce) {
  const auto on = [](std::string name, std::string machine) {
    Answered answered = at(std::move(name), "", "");
    answered.machine = std::move(machine);
    return answered;
  };
  EXPECT_FALSE(machine_named_twice({on("a", "m1"), on("b", "m2")}, "--hosts", StepOf::job));
  EXPECT_FALSE(machine_named_twice({on("a", ""), on("b", "")}, "--hosts", StepOf::job))
      << "unknown";
  const std::vector<Answered> twice = {on("a", "m1"), on("b", "m2"), on("c", "m1")};
  const auto refused = machine_named_twice(twice, "--hosts", StepOf::job);
  ASSERT_TRUE(refused);
  EXPECT_EQ((*refused)->exit_code, exit_usage);
  EXPECT_EQ(refused->line(),
            "--hosts: a and c are one machine: each name would become a node, and both nodes would "
            "use the same GPUs; list each machine once, with its number of processes (HOST:N)");
  const auto examined = machine_named_twice(twice, "--hosts", StepOf::verb);
  ASSERT_TRUE(examined);
  EXPECT_EQ(examined->line(),
            "--hosts: a and c are one machine: each name would count as a host, and this machine "
            "would be compared with itself; list each machine once");
}

TEST(LoginPlace, TheRootIsFoundWhereItWasReached) {
  const std::string own = hosts::host_name();
  struct Case {
    std::vector<Answered> answered;
    std::vector<std::string> expected;
  };
  const Case cases[] = {
      {{at("a", "10.0.0.9", "10.0.0.1"), at("b", "10.0.0.9", "10.0.0.2")},
       {"10.0.0.1", "10.0.0.1"}},
      {{at("a", "127.0.0.1", "127.0.0.1"), at("b", "10.0.0.9", "10.0.0.2")}, {"a", "a"}},
      {{at("a", "", ""), at("b", "10.0.0.9", "10.0.0.2")}, {"a", "a"}},
      // A login that came from an address of this host, and one through a jump host.
      {{found_here("a"), at("b", "127.0.0.1", "127.0.0.1"), at("c", "192.0.2.7", "10.0.0.2")},
       {"127.0.0.1", "127.0.0.1", own}},
  };
  for (const auto& [answered, expected] : cases) EXPECT_EQ(addresses(answered), expected);
}

TEST(LoginPlace, Orders) {
  const auto orders = orders_for(job(), {at("a", "", ""), at("b", "", "")});
  ASSERT_EQ(orders.size(), 2u);
  EXPECT_EQ(orders[1].argv,
            (std::vector<std::string>{"/opt/bin/toprun", "--hosts", "a,b", "train.py", "x"}));
  EXPECT_EQ(orders[1].variables.at("TOPRUN_LOGIN_NODES"), "a,b");
  EXPECT_EQ(orders[1].variables.at("TOPRUN_LOGIN_NODE"), "1");
  EXPECT_EQ(orders[1].variables.at("TOPRUN_LOGIN_ROOT"), "0");
  EXPECT_EQ(orders[0].variables.at("TOPRUN_LOGIN_JOB"), orders[1].variables.at("TOPRUN_LOGIN_JOB"));
  EXPECT_TRUE(orders[0].directory.starts_with('/'));
}

TEST(LoginPlace, ThisHost) {
  const std::string own = hosts::host_name();
  const std::string label = own.substr(0, own.find('.'));
  for (const std::string& name : {own, label, std::string("localhost"), std::string("127.0.0.1")}) {
    EXPECT_TRUE(is_this_host({name, std::nullopt, name})) << name;
    EXPECT_FALSE(is_this_host({name, std::nullopt, "me@" + name})) << name;
  }
  for (const std::string& name : {own + "x", std::string("192.0.2.1"), std::string("x.") + own}) {
    EXPECT_FALSE(is_this_host({name, std::nullopt, name})) << name;
  }
}

}  // namespace
}  // namespace toprun::launch
