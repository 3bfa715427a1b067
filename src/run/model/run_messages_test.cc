#include "run/model/run_messages.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "base/text/version.h"

namespace toprun::model {
namespace {

using nlohmann::json;
using namespace std::chrono_literals;

hang::Group standing_group() {
  hang::Group group;
  group.standing.doing = hang::Doing::uninterruptible;
  group.standing.wchan = "folio_wait_bit";
  group.standing.frames = {{"load", "/job/data.py", 41}, {"<module>", "/job/train.py", 9}};
  group.standing.no_frames = "why";
  group.standing.children = {{"python3", hang::Doing::waits, {{"read", "/job/data.py", 3}}}};
  group.standing.threads = {{hang::Doing::locked, {{"fetch", "/job/data.py", 9}}}};
  group.ranks = {3, 5};
  return group;
}

recorder::Summary recorded() {
  recorder::GroupSummary group;
  group.name = "4";
  group.description = "tp";
  group.generation = 2;
  group.members = {{3, 2, 2}, {8, 1, 1}};
  group.reached = {{3, 2, true, false, {3, 5}}, {0, 0, false, true, {8}}};
  group.calls = {
      {3, 0, "nccl:all_to_all", "", "", "Float", 12, 16, {3}},
      {3, 1, "nccl:all_reduce", "[[4]] -> [[4]]", "4 -> 4", "Float -> Float", 0, 0, {5}}};
  group.transfers = {{3, -1, true, true, true, 2, 7, "nccl:send 0->1", "4", "Float"}};
  return {{3, 5, 8}, {5}, {5}, {group}};
}

meter::Node busy_node() {
  meter::Node node;
  node.host = {16, 3.5, 1u << 30, std::uint64_t{4} << 30, 1e9, 0.0};
  node.ranks = {{0.25, 5u << 20, 41ms, meter::Gpu{97, 7u << 20, 9u << 20}},
                {{}, {}, 3ms, {}, "step 7"},
                {{}, {}, {}, meter::Gpu{{}, 7u << 20, 9u << 20}}};
  return node;
}

TEST(RunMessages, OfAMemberAreReadAsTheyWereWritten) {
  WorkerExit exit;
  exit.host = "n1";
  exit.rank = 3;
  exit.exit_code = 7;
  const std::vector<ToRoot> messages = {
      {0, Staged{41s, std::uint64_t{1} << 40, {}}},
      {0, Staged{0ms, 0, "no room"}},
      {0, Ready{}},
      {1, Started{4, "/logs"}},
      {1, Started{4, "", {4711, 4712}}},
      {1, Started{4, "", {}, std::chrono::seconds(41)}},
      {1, Started{}},
      {1, Prefetched{41s}},
      {1, Arrivals{{{"", {{4711, 0, 5ms, 3ms}}},
                    {"10.0.0.2", {{4711, std::nullopt, 7ms, std::nullopt}, {0, 3, 6ms, 0ms}}}}}},
      {1, Arrivals{}},
      {2, OutputLines{true, "a line\n"}},
      {2, exit},
      {3, Gone{5ms, fabric::NetworkUse{{"IB"}, 8, 7, {"mlx5_0:1 sent 1 MB"}, {"2.27.3"}}}},
      {3, Gone{5ms, {}}},
      {3, Gone{}},
      {std::nullopt, Orphaned{"its keeper was killed"}},
      {4, Failed{Failing::finding_store, {"what", "why", "fix", 2}}},
      {5, Signalled{15}},
      {5, Leaving{15}},
      {5, AskedToGrow{}},
      {5, RanksStill{31s, true}},
      {5, RanksMove{}},
      {5, hang::Alarm{hang::Alarm::Kind::exception_dump, 3}},
      {5, hang::Alarm{hang::Alarm::Kind::remote_error, {}}},
      {5, RanksSeen{7, {}}},
      {5, RanksSeen{7, {standing_group()}, 2}},
      {5, RanksReported{7, {}}},
      {5, RanksReported{7, recorded()}},
      {5, RanksReported{7, {}, {{ras::Finding::Kind::dead, "0x9", 8, {3, 5}, 2, "count as dead"}}}},
      {5, RanksUse{}},
      {5, RanksUse{busy_node()}},
      {5, Notice{10}},
  };
  for (const ToRoot& message : messages) {
    const json written = to_wire(message);
    const auto read = to_root_in(written);
    ASSERT_TRUE(read && *read) << written;
    EXPECT_EQ((*read)->attempt, message.attempt);
    EXPECT_EQ((*read)->what.index(), message.what.index()) << written;
    json again = to_wire(**read);
    if (written["type"] == "exit") {  // its age counts up to the moment of writing
      EXPECT_NEAR(again["age_ms"].get<double>(), written["age_ms"].get<double>(), 1'000);
      again["age_ms"] = written["age_ms"];
    }
    EXPECT_EQ(again, written);
  }
}

TEST(RunMessages, OfTheRootAreReadAsTheyWereWritten) {
  Assignment assignment;
  assignment.run_id = "x";
  Assignment staged = assignment;
  staged.stage =
      StagePart{"00ff", {{"a1", "n1", {"10.0.0.1", "fd::1"}, 29500, ""}, {"a0", "n0", {}, 1, ""}}};
  // Values that are as usual are left out.
  Assignment unusual = assignment;
  unusual.restarts = 2;
  unusual.nproc = 1;
  unusual.local_world_size = 8;
  unusual.first_rank = 5;
  unusual.role_first_rank = 3;
  unusual.world_size = 16;
  unusual.role_world_size = 4;
  unusual.location = "/a/b";
  unusual.order = "name";
  unusual.colours = true;
  const std::vector<ToNode> messages = {WaitAsSpare{},  WaitAsSpare{Until::somebody_asks},
                                        assignment,     unusual,
                                        staged,         Start{},
                                        LookAtRanks{7}, LookAtRanks{7, true},
                                        MeasureRanks{}, Taken{4096},
                                        Stop{30s},      Interrupt{2, 30s},
                                        Notice{10},     Finish{143, "the last line"},
                                        Finish{}};
  for (const ToNode& message : messages) {
    const json written = to_wire(message);
    const auto read = to_node_in(written);
    ASSERT_TRUE(read && *read) << written;
    EXPECT_EQ(to_wire(**read), written);
  }
}

TEST(RunMessages, WhatAnAssignmentLeavesOutIsAsUsual) {
  Assignment assignment;
  assignment.first_rank = assignment.role_first_rank = 6;
  assignment.nproc = assignment.local_world_size = 2;
  assignment.world_size = assignment.role_world_size = 8;
  const json written = to_wire(ToNode(assignment));
  EXPECT_FALSE(written.contains("role_world_size")) << written;
  const auto read = to_node_in(written);
  ASSERT_TRUE(read && *read) << written;
  const Assignment& again = *std::get<Shared<Assignment>>(**read);
  EXPECT_EQ(again.local_world_size, 2);
  EXPECT_EQ(again.role_first_rank, 6);
  EXPECT_EQ(again.role_world_size, 8);
  EXPECT_EQ(again.restarts, 0);
  EXPECT_EQ(again.location, "");
}

TEST(RunMessages, OfALaterVersionArePassedOver) {
  const auto unknown = to_root_in(json{{"type", "mood"}, {"attempt", 1}});
  ASSERT_TRUE(unknown);
  EXPECT_FALSE(*unknown);
  EXPECT_FALSE(*to_node_in(json{{"type", "mood"}}));
  EXPECT_TRUE(*to_root_in(json{{"type", "ready"}, {"attempt", 1}, {"colour", "blue"}}));
}

// A14: each of these once ended the root or the member.
TEST(RunMessages, ThatAreMalformedAreErrors) {
  for (
      const char* text :
      {R"({"type": "signal", "signal": "x"})",
       R"({"type": "signal", "signal": 0})",
       R"({"type": "signal", "signal": 65})",
       R"({"type": "signal", "signal": 1e300})",
       R"({"type": "signal"})",
       R"({"type": "leave", "signal": []})",
       R"({"type": "ranks_told", "look": 1, "ranks": [2, 1], "groups": []})",
       R"({"type": "ranks_told", "look": 1, "ranks": [], "groups": [{"id": "0"}]})",
       R"({"type": "ranks_told", "look": 1, "ranks": [], "groups": [
           {"id": "0", "description": "", "statuses": [{"last": [1, 2], "ranks": [1]}], "calls": []}]})",
       R"({"type": "ranks_told", "look": 1, "ranks": [], "groups": [
           {"id": "0", "description": "", "statuses": [], "calls": [
            {"sequence": 1, "operation": "", "sizes": "", "types": "", "ranks": []}]}]})",
       R"({"type": "alarm", "key": "no key"})",
       R"({"type": "alarm", "key": "exception_dump", "rank": -1})",
       R"({"type": "ready", "attempt": "first"})",
       R"({"type": "ready", "attempt": -1})",
       R"({"type": "ready", "attempt": 18446744073709551615})",
       R"({"type": "exit", "rank": {}})",
       R"({"type": "started", "first_rank": 4294967296})",
       R"({"type": "gone", "first_connect_age_ms": -1})",
       R"({"type": "output", "lines": 3})",
       R"({"type": "failed", "what": null})",
       R"({"type": "orphaned", "reason": 7})",
       R"({"type": "notice", "signal": -9})",
       R"({"type": "started", "pids": [1, -1]})",
       R"({"type": "started", "warmed_ms": -1})",
       R"({"type": "started", "warmed_ms": "1"})",
       R"({"type": "staged", "took_ms": -1, "bytes": 0})",
       R"({"type": "staged", "took_ms": 1, "bytes": -1})",
       R"({"type": "prefetched"})",
       R"({"type": "prefetched", "took_ms": -1})",
       R"({"type": "started", "pids": {"a": 1}})",
       R"({"type": "ranks_still", "age_ms": -1, "communicate": true})",
       R"({"type": "ranks_still", "age_ms": 1, "communicate": 1})",
       R"({"type": "ranks_seen", "look": 1})",
       R"({"type": "ranks_seen", "look": 1, "groups": {}})",
       R"({"type": "ranks_seen", "look": 1, "groups": [{"doing": "sings", "frames": [], "ranks": [1]}]})",
       R"({"type": "ranks_seen", "look": 1, "groups": [{"doing": "waits", "frames": [], "ranks": []}]})",
       R"({"type": "ranks_seen", "look": 1, "groups": [{"doing": "waits", "frames": [[1]], "ranks": [1]}]})",
       R"({"type": "ranks_use"})",
       R"({"type": "ranks_use", "host": [1, 2], "ranks": []})",
       R"({"type": "ranks_use", "host": [1, 2, 3, 4, 5, -2], "ranks": []})",
       R"({"type": "ranks_use", "host": [1, 2, 3, 4, 5, 6], "ranks": [7]})",
       R"({"type": "ranks_use", "host": [1, 2, 3, 4, 5, 6], "ranks": [[1, 2, 3, 101, 5, 6]]})",
       R"({"type": "ranks_use", "host": [1, 2, 3, 4, 5, 6], "ranks": [[1, 2, 3, "4", 5, 6]]})",
       R"({"type": "arrivals"})",
       R"({"type": "arrivals", "hosts": [3]})",
       R"({"type": "arrivals", "hosts": [{"address": "", "pids": [1], "ranks": [],
            "joined_ages_ms": [1], "met_ages_ms": [1]}]})",
       R"({"type": "arrivals", "hosts": [{"address": "", "pids": [1], "ranks": [-2],
            "joined_ages_ms": [1], "met_ages_ms": [1]}]})",
       R"({"type": "arrivals", "hosts": [{"address": "", "pids": [1], "ranks": [0],
            "joined_ages_ms": [-1], "met_ages_ms": [1]}]})"}) {
    EXPECT_FALSE(to_root_in(json::parse(text))) << text;
  }
  for (const char* text : {R"({"type": "assign"})", R"({"type": "stop", "grace_ms": "soon"})",
                           R"({"type": "stop", "grace_ms": -1})",
                           R"({"type": "interrupt", "signal": 99, "grace_ms": 1})",
                           R"({"type": "taken", "bytes": -1})",
                           R"({"type": "finish", "exit_code": 4711})", R"({"type": "finish"})"}) {
    EXPECT_FALSE(to_node_in(json::parse(text))) << text;
  }
  for (const char* text : {"[]", "null", "3", "{}", R"({"type": 3})", R"({"type": null})"}) {
    const auto read = to_root_in(json::parse(text));
    EXPECT_TRUE(!read || !*read) << text;
  }
}

TEST(RunMessages, ArrivalsOfTooManyAreMalformed) {
  Arrivals arrivals;
  arrivals.hosts.push_back({"10.0.0.2", std::vector<Arrivals::Rank>(most_arrivals)});
  EXPECT_TRUE(to_root_in(to_wire(ToRoot{1, arrivals})));
  arrivals.hosts.push_back({"10.0.0.3", std::vector<Arrivals::Rank>(1)});
  EXPECT_FALSE(to_root_in(to_wire(ToRoot{1, arrivals})));
}

TEST(RunMessages, AnAssignmentOfTooManyIsMalformed) {
  Assignment assignment;
  json written = to_wire(ToNode(assignment));
  written["nproc"] = 2'147'483'647;
  EXPECT_FALSE(to_node_in(written));
  StagePart stage;
  stage.sources.resize(most_stage_sources);
  assignment.stage = stage;
  EXPECT_TRUE(to_node_in(to_wire(ToNode(assignment))));
  stage.sources.emplace_back();
  assignment.stage = stage;
  EXPECT_FALSE(to_node_in(to_wire(ToNode(assignment))));
}

TEST(Join, HasBounds) {
  Join join;
  join.agent = "a1";
  join.host = std::string(longest_name, 'n');
  join.addresses.assign(most_addresses, "10.0.0.1");
  EXPECT_TRUE(join_in(json(join)));
  const auto refused = [&](auto change, const char* field) {
    Join other = join;
    change(other);
    const auto read = join_in(json(other));
    EXPECT_FALSE(read) << field;
    if (!read) {
      EXPECT_EQ(read.error()->why, fmt::format("the value of \"{}\" is out of range", field));
    }
  };
  refused([](Join& one) { one.host += "n"; }, "host");
  refused([](Join& one) { one.role.assign(longest_name + 1, 'r'); }, "role");
  refused([](Join& one) { one.agent.assign(60'000, 'a'); }, "agent");
  refused([](Join& one) { one.features.assign(most_features + 1, "f"); }, "features");
  refused([](Join& one) { one.addresses.emplace_back("10.0.0.2"); }, "addresses");
  refused([](Join& one) { one.addresses.front().assign(longest_address + 1, '1'); }, "addresses");
}

}  // namespace
}  // namespace toprun::model
