#include <gtest/gtest.h>
#include <signal.h>

#include "run/conductor/conductor_testing.h"

namespace toprun::run {
namespace {

using namespace std::chrono_literals;
using testing::Simple;

// A job of three nodes to which the engine gave four.
Settings with_a_spare() {
  Settings settings;
  settings.size = {3, 3, true};
  settings.max_restarts = 1;
  settings.others_come = true;
  settings.node_names = {"n0", "n1", "n2", "n3"};
  return settings;
}

std::vector<std::string> hosts_of(const Arrange& request) {
  std::vector<std::string> hosts;
  for (const model::Join& member : request.members) hosts.push_back(member.host);
  return hosts;
}

using Hosts = std::vector<std::string>;

TEST(SpareNodes, AreChosenAmongAllThatTheEngineGave) {
  Simple run(with_a_spare());
  run.unneeded = 1;
  for (int node = 0; node < 3; ++node) run.come(node);
  EXPECT_TRUE(run.arranges.empty()) << "n3 may be the better one";
  run.come(3);
  ASSERT_EQ(run.arranges.size(), 1u);
  EXPECT_EQ(run.arranges[0].seats, 3u);
  EXPECT_EQ(run.arranges[0].staying, 1u) << "the root's own node";
  EXPECT_EQ(hosts_of(run.arranges[0]), (Hosts{"n0", "n1", "n2", "n3"}));
  EXPECT_EQ(run.count_sent<model::WaitAsSpare>(1), 1);
  EXPECT_EQ(run.count_sent<Shared<model::Assignment>>(1), 0);
  for (const int node : {0, 2, 3}) {
    EXPECT_EQ(run.count_sent<Shared<model::Assignment>>(node), 1) << node;
    EXPECT_EQ(run.count_sent<model::WaitAsSpare>(node), 0) << node;
  }
  EXPECT_EQ(run.said, Hosts{"n1 waits as a spare"});
}

TEST(SpareNodes, AreKnownWhileTheyWaitAndOnceTheyAreLost) {
  Simple run(with_a_spare());
  for (int node = 0; node < 4; ++node) run.come(node);
  EXPECT_EQ(run.coordinator.spares(), std::vector<Outside>{"n3"});
  for (int node = 0; node < 3; ++node) run.say(node, model::Ready{});
  for (int node = 0; node < 3; ++node) run.say(node, model::Started{});
  run.on(Left{run.id(3), model::Loss{model::Loss::Kind::silent, "it was silent"}});
  EXPECT_EQ(run.coordinator.spares(), std::vector<Outside>{});
  const auto& lost = run.coordinator.course().lost_spares;
  ASSERT_EQ(lost.size(), 1u);
  EXPECT_EQ(lost[0].node, "n3");
  EXPECT_EQ(lost[0].why, "it was silent");

  Simple early(with_a_spare());
  early.come(0);
  early.on(NodeEnded{"n3"});
  EXPECT_EQ(early.coordinator.course().lost_spares.at(0).node, "n3");
}

TEST(SpareNodes, AreNotWaitedForLong) {
  Simple run(with_a_spare());
  for (int node = 0; node < 3; ++node) run.come(node);
  run.after(900ms);
  EXPECT_TRUE(run.arranges.empty());
  run.after(100ms);
  ASSERT_EQ(run.arranges.size(), 1u);
  run.come(3);
  EXPECT_EQ(run.count_sent<model::WaitAsSpare>(3), 1);
}

TEST(SpareNodes, TakeAPlaceThatIsFreeAndNoOther) {
  Simple run(with_a_spare());
  for (int node = 0; node < 4; ++node) run.come(node);
  for (int node = 0; node < 3; ++node) run.say(node, model::Ready{});
  for (int node = 0; node < 3; ++node) run.say(node, model::Started{});
  run.on(Left{run.id(1), model::Loss{model::Loss::Kind::silent, "it was silent"}});
  for (const int node : {0, 2}) run.say(node, model::Gone{});
  run.pass(5s);
  ASSERT_EQ(run.arranges.size(), 2u);
  EXPECT_EQ(hosts_of(run.arranges[1]), (Hosts{"n0", "n2", "n3"}));
  EXPECT_EQ(run.count_sent<Shared<model::Assignment>>(3), 1);
  EXPECT_EQ(run.said.back(), "n3 takes part now");
}

TEST(SpareNodes, OfSeveralTheBestTakesThePlace) {
  Settings settings = with_a_spare();
  settings.node_names.push_back("n4");
  Simple run(settings);
  for (int node = 0; node < 5; ++node) run.come(node);
  for (int node = 0; node < 3; ++node) run.say(node, model::Ready{});
  for (int node = 0; node < 3; ++node) run.say(node, model::Started{});
  run.unneeded = 3;
  run.on(Left{run.id(1), model::Loss{model::Loss::Kind::silent, "it was silent"}});
  for (const int node : {0, 2}) run.say(node, model::Gone{});
  run.pass(5s);
  ASSERT_EQ(run.arranges.size(), 2u);
  EXPECT_EQ(run.arranges[1].staying, 2u) << "what runs already goes on where it is";
  EXPECT_EQ(hosts_of(run.arranges[1]), (Hosts{"n0", "n2", "n3", "n4"}));
  EXPECT_EQ(run.count_sent<Shared<model::Assignment>>(3), 0);
  EXPECT_EQ(run.count_sent<Shared<model::Assignment>>(4), 1);
}

TEST(SpareNodes, OneThatLeavesBeforeItIsSeatedIsNotTaken) {
  Simple run(with_a_spare());
  run.answers = false;
  for (int node = 0; node < 4; ++node) run.come(node);
  run.on(Left{run.id(3), std::nullopt});
  run.unneeded = 1;
  run.answer(run.arranges.front());
  run.unneeded.reset();
  run.answers = true;
  run.settle();
  ASSERT_EQ(run.arranges.size(), 2u);
  EXPECT_EQ(hosts_of(run.arranges[1]), (Hosts{"n0", "n1", "n2"}));
  EXPECT_EQ(run.coordinator.stage(), Stage::preparing);
}

TEST(SpareNodes, MayEndBeforeTheyJoin) {
  Simple run(with_a_spare());
  run.come(0);
  run.come(1);
  run.on(NodeEnded{"n3"});
  run.on(NodeEnded{"n3"});
  EXPECT_EQ(run.said, Hosts{"n3 has ended before it joined: the job starts without it"});
  run.come(2);
  EXPECT_EQ(run.coordinator.stage(), Stage::preparing) << "there is none to wait for";

  Simple worse(with_a_spare());
  worse.come(0);
  worse.on(NodeEnded{"n3"});
  worse.on(NodeEnded{"n2"});
  EXPECT_EQ(worse.verdict().node, "n2");
}

TEST(SpareNodes, TakeThePlaceOfAnUnfitNode) {
  Simple run(with_a_spare());
  for (int node = 0; node < 3; ++node) run.come(node);
  run.say(1, model::Failed{model::Failing::taking_part, Error{"no GPU", "", "", 1}});
  EXPECT_EQ(run.said, Hosts{"n1: no GPU; the job goes on without it"});
  run.come(3);
  ASSERT_EQ(run.arranges.size(), 1u);
  EXPECT_EQ(hosts_of(run.arranges[0]), (Hosts{"n0", "n2", "n3"}));
  model::Join again;
  again.agent = "again";
  again.host = "n1";
  const auto refused = run.coordinator.admit(again);
  ASSERT_TRUE(refused);
  EXPECT_EQ(refused->text, "n1: no GPU");
}

TEST(SpareNodes, AnElasticJobThatUnfitNodesLeaveTooSmallSaysWhatTheyLacked) {
  Simple run(Simple::elastic(2, 3));
  for (int node = 0; node < 3; ++node) run.come(node);
  for (const int node : {1, 2}) {
    run.say(node, model::Failed{model::Failing::taking_part, Error{"no GPU", "", "", 1}});
  }
  run.pass(run.coordinator.settings().join_timeout + 10s);
  EXPECT_NE(run.verdict().message.find("n2: no GPU"), std::string::npos) << run.verdict().message;
}

TEST(SpareNodes, AWishToGrowIsAnsweredWhoeverHasIt) {
  Settings settings = Simple::elastic(1, 2);
  settings.grow = Grow::on_signal;
  Simple run(settings);
  run.come(0);
  run.come(1);
  run.all_start(2);
  const auto ask = [&](std::vector<int> nodes) {
    run.said.clear();
    for (const int node : nodes) run.say(node, model::AskedToGrow{});
    return run.said;
  };
  EXPECT_EQ(ask({1}), Hosts{"the job was asked to take in more nodes, but no node waits"});
  run.after(2s);
  EXPECT_EQ(ask({0, 1}), Hosts{"the job was asked to take in more nodes, but no node waits"});
}

// Three nodes whose agents were all started together, and none of which is started again.
Settings started_once(Size size) {
  Settings settings;
  settings.size = size;
  settings.elastic = size.least < size.most;
  settings.max_restarts = 1;
  settings.others_come = true;
  settings.each_comes_once = true;
  settings.node_names = {"n0", "n1", "n2"};
  return settings;
}

const model::Loss cut{model::Loss::Kind::closed, "the connection was closed"};

void lose_while_running(Simple& run, int node, std::vector<int> others) {
  run.on(Left{run.id(node), cut});
  for (const int other : others) run.say(other, model::Gone{});
}

TEST(NodesThatComeOnce, AreNotWaitedForOnceTheyAreLost) {
  Simple run(started_once({3, 3, true}));
  for (int node = 0; node < 3; ++node) run.come(node);
  run.all_start(3);
  lose_while_running(run, 2, {0, 1});
  EXPECT_EQ(run.coordinator.stage(), Stage::telling);
  EXPECT_EQ(run.verdict().kind, model::CauseKind::agent_lost);
  EXPECT_EQ(run.verdict().node, "n2");
  EXPECT_EQ(run.said,
            Hosts{"not restarted: without n2, 2 of the 3 nodes that the job needs are left, and "
                  "no other node can join"});
}

TEST(NodesThatComeOnce, OneThatIsLostAfterARankFailedIsNamed) {
  Simple run(started_once({3, 3, true}));
  for (int node = 0; node < 3; ++node) run.come(node);
  run.all_start(3);
  model::WorkerExit exit;
  exit.host = "n0";
  exit.exit_code = 5;
  run.say(0, Shared<model::WorkerExit>(exit));
  for (const int node : {0, 1}) run.say(node, model::Gone{});
  run.on(Left{run.id(2), model::Loss{model::Loss::Kind::silent, "it was silent"}});
  EXPECT_EQ(run.coordinator.stage(), Stage::telling);
  EXPECT_EQ(run.verdict().kind, model::CauseKind::exit);
  EXPECT_EQ(run.verdict().node, "n0");
  EXPECT_EQ(run.said,
            (Hosts{"n2 was lost in the meantime: it was silent",
                   "not restarted: without n2, 2 of the 3 nodes that the job needs are left, and "
                   "no other node can join"}));
  EXPECT_EQ(run.coordinator.course().restarts, 0) << "no attempt followed";
  const auto& lost = run.coordinator.course().attempts.back().lost_nodes;
  ASSERT_EQ(lost.size(), 1u);
  EXPECT_EQ(lost[0].node, "n2");
  EXPECT_EQ(lost[0].why, "it was silent");
}

TEST(NodesThatComeOnce, AllThatAreLostAreNamed) {
  Simple run(started_once({3, 3, true}));
  for (int node = 0; node < 3; ++node) run.come(node);
  run.all_start(3);
  run.on(Left{run.id(1), cut});
  run.on(Left{run.id(2), cut});
  run.say(0, model::Gone{});
  EXPECT_EQ(run.verdict().node, "n1");
  EXPECT_EQ(run.said,
            (Hosts{"n2 was lost too: the connection was closed",
                   "not restarted: without n[1-2], 1 of the 3 nodes that the job needs is left, "
                   "and no other node can join"}));
}

TEST(NodesThatComeOnce, TheOthersBeginAtOnceIfTheyAreEnough) {
  Simple run(started_once({2, 3, true}));
  for (int node = 0; node < 3; ++node) run.come(node);
  run.all_start(3);
  lose_while_running(run, 2, {0, 1});
  ASSERT_EQ(run.arranges.size(), 2u) << "there is none for whom to make a last call";
  EXPECT_EQ(hosts_of(run.arranges[1]), (Hosts{"n0", "n1"}));
  for (const int node : {0, 1}) run.say(node, model::Ready{});
  for (const int node : {0, 1}) run.say(node, model::Started{});
  lose_while_running(run, 1, {0});
  EXPECT_EQ(run.coordinator.stage(), Stage::telling);
  EXPECT_EQ(run.said.back(),
            "not restarted: without n1, 1 of the 2 nodes that the job needs at least is left, and "
            "no other node can join");
}

TEST(NodesThatComeOnce, ASpareTakesTheLostOnesPlaceWhileThereIsOne) {
  Simple run(started_once({2, 2, true}));
  for (int node = 0; node < 3; ++node) run.come(node);
  run.all_start(2);
  lose_while_running(run, 1, {0});
  ASSERT_EQ(run.arranges.size(), 2u);
  EXPECT_EQ(hosts_of(run.arranges[1]), (Hosts{"n0", "n2"}));
  for (const int node : {0, 2}) run.say(node, model::Ready{});
  for (const int node : {0, 2}) run.say(node, model::Started{});
  lose_while_running(run, 2, {0});
  EXPECT_EQ(run.coordinator.stage(), Stage::telling);
  EXPECT_EQ(run.verdict().node, "n2");
}

TEST(NodesThatComeOnce, OneThatIsYetToComeIsWaitedFor) {
  Simple run(started_once({2, 2, true}));
  run.come(0);
  run.come(1);
  run.after(spares_limit);
  run.all_start(2);
  lose_while_running(run, 1, {0});
  EXPECT_EQ(run.coordinator.stage(), Stage::gathering) << "n2 has not been there yet";
  run.come(2);
  EXPECT_EQ(run.arranges.size(), 2u);
}

TEST(NodesThatComeOnce, OneThatLeavesBeforeAllWereThereEndsTheJob) {
  Simple run(started_once({3, 3, true}));
  for (int node = 0; node < 2; ++node) run.come(node);
  run.on(Left{run.id(1), cut});
  EXPECT_EQ(run.coordinator.stage(), Stage::gathering);
  run.come(2);
  EXPECT_EQ(run.coordinator.stage(), Stage::telling);
  EXPECT_EQ(run.verdict().kind, model::CauseKind::agent_lost);
  EXPECT_EQ(run.verdict().node, "n1");
  EXPECT_EQ(run.verdict().message,
            "n1 left before the job was complete: the connection was closed; 2 of the 3 nodes that "
            "the job needs are left, and no other node can join");
}

TEST(NodesThatComeOnce, OneThatIsAskedToLeaveIsNotWaitedFor) {
  Simple run(started_once({3, 4, true}));
  for (int node = 0; node < 3; ++node) run.come(node);
  run.all_start(3);
  run.say(2, model::Leaving{SIGTERM});
  for (const int node : {0, 1, 2}) run.say(node, model::Gone{});
  EXPECT_EQ(run.coordinator.stage(), Stage::asking);
  EXPECT_EQ(run.verdict().node, "n2");
}

}  // namespace
}  // namespace toprun::run
