#include <gtest/gtest.h>

#include <array>

#include "run/conductor/conductor_testing.h"

namespace toprun::run {
namespace {

using model::Gone;
using model::LookAtRanks;
using model::RanksMove;
using model::RanksReported;
using model::RanksSeen;
using model::RanksStill;
using model::Stop;
using testing::Simple;
using namespace std::chrono_literals;

RanksSeen seen(int look, int rank, hang::Doing doing) {
  hang::Groups groups;
  hang::Standing standing;
  standing.doing = doing;
  groups.add(standing, std::array{rank});
  return {look, std::move(groups).take()};
}

model::WorkerExit exit_of(int rank) {
  model::WorkerExit exit;
  exit.rank = rank;
  return exit;
}

// Three nodes with a rank each.
class Hanging : public ::testing::Test {
 protected:
  Simple& begin(OnHang on_hang, int max_restarts = 0) {
    Settings settings;
    settings.size = {3, 3};
    settings.hang_timeout = 30s;
    settings.on_hang = on_hang;
    settings.max_restarts = max_restarts;
    run.emplace(settings);
    for (int node = 0; node < 3; ++node) run->come(node);
    run->all_start(3);
    return *run;
  }
  void all_stand_still() {
    run->say(0, RanksStill{15s, true});
    run->say(1, RanksStill{16s, false});
    run->say(2, RanksStill{15s, true});
  }
  void all_are_seen(int look = 0) {
    run->say(0, seen(look, 0, hang::Doing::communicates));
    run->say(1, seen(look, 1, hang::Doing::waits));
    run->say(2, seen(look, 2, hang::Doing::communicates));
    run->after(hang_confirm_delay);
  }
  const std::optional<model::Hang>& hang() const {
    return run->coordinator.course().attempts.front().hang;
  }

  std::optional<Simple> run;
};

TEST_F(Hanging, NamesWhoDoesNotCome) {
  begin(OnHang::report);
  all_stand_still();
  run->after(14s);
  EXPECT_EQ(run->count_sent<LookAtRanks>(1), 0);
  run->after(1s);
  EXPECT_EQ(run->count_sent<LookAtRanks>(1), 1);
  EXPECT_FALSE(hang());
  all_are_seen();
  ASSERT_TRUE(hang());
  EXPECT_EQ(hang()->verdict.suspects, (std::vector{1}));
  EXPECT_EQ(hang()->suspected, (std::vector<std::string>{"n1"}));
  EXPECT_EQ(run->count_sent<Stop>(0), 0);
  // Once, until they move and stand still again.
  run->after(1h);
  EXPECT_EQ(run->count_sent<LookAtRanks>(1), 1);
  EXPECT_FALSE(hang()->over);
  run->say(2, RanksMove{});
  EXPECT_TRUE(hang()->over);
  run->after(15s);
  run->say(2, RanksStill{15s, true});
  run->after(15s);
  EXPECT_EQ(run->count_sent<LookAtRanks>(1), 2);
}

TEST_F(Hanging, IsNoneWhileOneNodesRanksMove) {
  begin(OnHang::abort);
  run->say(0, RanksStill{15s, true});
  run->say(1, RanksStill{15s, true});
  run->after(1h);
  EXPECT_EQ(run->count_sent<LookAtRanks>(0), 0);
  run->say(2, RanksStill{15s, true});
  run->say(0, RanksMove{});
  run->after(1h);
  EXPECT_EQ(run->count_sent<LookAtRanks>(0), 0);
}

TEST_F(Hanging, IsNoneWhereNobodyWaitsForAnother) {
  begin(OnHang::abort);
  for (int node = 0; node < 3; ++node) run->say(node, RanksStill{1h, false});
  run->after(1h);
  EXPECT_EQ(run->count_sent<LookAtRanks>(0), 0);
}

TEST_F(Hanging, IsNoneIfARankMovesWhileItIsLookedAt) {
  begin(OnHang::abort);
  all_stand_still();
  run->after(15s);
  run->say(1, RanksMove{});
  all_are_seen();
  EXPECT_FALSE(hang());
  EXPECT_EQ(run->count_sent<Stop>(0), 0);
}

TEST_F(Hanging, IsSeenBesideNodesWhoseRanksHaveEnded) {
  begin(OnHang::report);
  run->say(0, RanksStill{15s, true});
  run->say(2, RanksStill{15s, true});
  run->say(1, exit_of(1));
  run->say(1, Gone{});
  run->after(29s);
  EXPECT_EQ(run->count_sent<LookAtRanks>(0), 0);
  run->after(1s);
  EXPECT_EQ(run->count_sent<LookAtRanks>(0), 1);
  EXPECT_EQ(run->count_sent<LookAtRanks>(1), 0);
}

// The others have ended as well, but their words are on their way, and so are their last answers.
TEST_F(Hanging, IsNoneIfARankEndsWhileItIsLookedAt) {
  begin(OnHang::abort);
  all_stand_still();
  run->after(15s);
  run->say(1, exit_of(1));
  all_are_seen();
  EXPECT_FALSE(hang());
  EXPECT_EQ(run->count_sent<Stop>(0), 0);
}

TEST_F(Hanging, IsNoneWhereARankHasMovedAndItsNodeIsGone) {
  begin(OnHang::abort);
  all_stand_still();
  run->after(14s);
  run->say(1, RanksMove{});
  run->say(1, Gone{});
  run->after(1s);
  EXPECT_EQ(run->count_sent<LookAtRanks>(0), 0);
}

TEST_F(Hanging, ARanksOwnWordIsFollowedAtOnce) {
  begin(OnHang::abort);
  run->say(1, hang::Alarm{hang::Alarm::Kind::exception_dump, 2});
  EXPECT_EQ(run->count_sent<LookAtRanks>(0), 0) << "the store is on another node";
  run->say(0, hang::Alarm{hang::Alarm::Kind::exception_dump, 2});
  run->say(0, hang::Alarm{hang::Alarm::Kind::exception_dump, 0});
  EXPECT_EQ(run->count_sent<LookAtRanks>(0), 1);
  all_are_seen();
  ASSERT_TRUE(hang());
  EXPECT_EQ(hang()->alarm, (hang::Alarm{hang::Alarm::Kind::exception_dump, 2}));
  EXPECT_EQ(hang()->verdict.suspects, (std::vector{1}));
  EXPECT_TRUE(model::headline(*hang()).starts_with("rank 2 wrote exception_dump: rank 1 on n1 "));
  EXPECT_EQ(run->count_sent<Stop>(0), 1);
}

// As a root hears it that was stopped: all that came meanwhile, one after the other.
TEST_F(Hanging, IsNoneIfARankMovesRightBehindTheLastAnswer) {
  begin(OnHang::abort);
  all_stand_still();
  run->after(15s);
  for (const int node : {0, 1, 2}) run->say(node, seen(0, node, hang::Doing::communicates));
  run->say(1, RanksMove{});
  run->after(hang_confirm_delay);
  EXPECT_FALSE(hang());
  EXPECT_EQ(run->count_sent<Stop>(0), 0);
}

TEST_F(Hanging, OneLookAnAttemptFollowsARanksWord) {
  begin(OnHang::report);
  run->say(0, hang::Alarm{hang::Alarm::Kind::remote_error, 7});
  all_are_seen();
  ASSERT_TRUE(hang());
  EXPECT_EQ(hang()->alarm, (hang::Alarm{hang::Alarm::Kind::remote_error, {}})) << "no such rank";
  run->say(2, RanksMove{});
  run->say(0, hang::Alarm{hang::Alarm::Kind::exception_dump, 1});
  EXPECT_EQ(run->count_sent<LookAtRanks>(0), 1);
  // The next hang is noticed by the time again.
  run->after(15s);
  all_stand_still();
  run->after(15s);
  all_are_seen(1);
  EXPECT_FALSE(hang()->alarm);
}

TEST_F(Hanging, ARanksWordIsNothingWithoutATimeLimit) {
  Settings settings;
  settings.size = {1, 1};
  run.emplace(settings);
  run->come(0);
  run->all_start(1);
  run->say(0, hang::Alarm{hang::Alarm::Kind::exception_dump, 0});
  EXPECT_EQ(run->count_sent<LookAtRanks>(0), 0);
}

// A node's recorders, of which rank 1's has not come to the fifth call.
RanksReported recorded(int look, int rank) {
  recorder::GroupSummary group;
  group.name = "0";
  group.description = "default_pg";
  group.reached = {{rank == 1 ? 4 : 5, 4, rank != 1, false, {rank}}};
  recorder::Summary summary;
  summary.ranks = {rank};
  summary.groups = {group};
  return {look, summary};
}

TEST_F(Hanging, RecordersNameWhomStacksDoNot) {
  begin(OnHang::report);
  all_stand_still();
  run->after(15s);
  for (int node = 0; node < 3; ++node) {
    RanksSeen all = seen(0, node, hang::Doing::communicates);
    all.more = 1;
    run->say(node, all);
    EXPECT_FALSE(hang());
    run->say(node, recorded(0, node));
    run->after(hang_confirm_delay);
    EXPECT_EQ(hang().has_value(), node == 2);
  }
  EXPECT_EQ(hang()->verdict.suspects, (std::vector{1}));
  EXPECT_EQ(hang()->suspected, (std::vector<std::string>{"n1"}));
  EXPECT_EQ(hang()->verdict.what,
            "default_pg: rank 1 never came to call 5, in which the others wait");
}

TEST_F(Hanging, RecordersAreAwaitedForATime) {
  begin(OnHang::report);
  all_stand_still();
  run->after(15s);
  for (int node = 0; node < 3; ++node) {
    RanksSeen all = seen(0, node, node == 1 ? hang::Doing::waits : hang::Doing::communicates);
    all.more = node != 1 ? 1 : 0;
    run->say(node, all);
  }
  run->say(0, recorded(0, 0));
  run->say(1, recorded(0, 1));  // unannounced
  run->after(look_limit);
  EXPECT_FALSE(hang());
  run->after(recorded_limit);
  ASSERT_TRUE(hang());
  EXPECT_EQ(hang()->verdict.suspects, (std::vector{1})) << "by its place";
  ASSERT_FALSE(hang()->verdict.evidence.empty());
  EXPECT_EQ(hang()->verdict.evidence.back().text, "no dump of ranks 1-2");
}

TEST_F(Hanging, NcclNamesWhomNobodyElseDoes) {
  begin(OnHang::report);
  all_stand_still();
  run->after(15s);
  for (int node = 0; node < 3; ++node) {
    RanksSeen all = seen(0, node, hang::Doing::communicates);
    all.more = node == 0 ? 1 : 0;
    run->say(node, all);
  }
  EXPECT_FALSE(hang());
  using Kind = ras::Finding::Kind;
  run->say(0, RanksReported{0,
                            {},
                            {{Kind::behind, "0x7", 2, {1}, 1, "called AllReduce 4 times"},
                             {Kind::missing, "0x9", 3, {2}, 1, "does not answer"}}});
  run->after(hang_confirm_delay);
  ASSERT_TRUE(hang());
  EXPECT_EQ(hang()->verdict.suspects, (std::vector{2})) << "0x7 is not of all ranks";
  ASSERT_EQ(hang()->verdict.evidence.size(), 2u);
  EXPECT_EQ(hang()->verdict.evidence[0].text,
            "communicator 0x7 of 2 ranks: its rank 1 called AllReduce 4 times");
  EXPECT_EQ(hang()->verdict.what, "communicator 0x9 of 3 ranks: rank 2 does not answer");
}

TEST_F(Hanging, AQuestionDoesNotAskTheRecorders) {
  begin(OnHang::report);
  run->on(PlacesAsked{7});
  EXPECT_FALSE(std::get<LookAtRanks>(run->sent.back().message).is_hang);
  run->say(0, hang::Alarm{hang::Alarm::Kind::exception_dump, 2});
  all_are_seen(0);
  EXPECT_FALSE(hang());
  EXPECT_TRUE(std::get<LookAtRanks>(run->sent.back().message).is_hang);
  all_are_seen(1);
  ASSERT_TRUE(hang());
  EXPECT_TRUE(hang()->alarm);
}

TEST_F(Hanging, ANodeThatDoesNotAnswerIsNamed) {
  begin(OnHang::report);
  all_stand_still();
  run->after(15s);
  run->say(0, seen(0, 0, hang::Doing::communicates));
  run->say(2, seen(0, 2, hang::Doing::communicates));
  run->say(2, seen(0, 2, hang::Doing::communicates));  // twice
  EXPECT_FALSE(hang());
  run->after(look_limit);
  ASSERT_TRUE(hang());
  EXPECT_EQ(hang()->verdict.unseen, (std::vector{1}));
  EXPECT_EQ(hang()->suspected, (std::vector<std::string>{"n1"}));
}

// Its agent may be stopped for a moment, after its ranks have ended like all others.
TEST_F(Hanging, ASilentNodeForWhichNobodyWaitsHasTime) {
  for (const bool comes_back : {true, false}) {
    begin(OnHang::abort);
    all_stand_still();
    run->say(0, Gone{});
    run->say(1, Gone{});
    run->after(15s);
    run->after(look_limit);
    EXPECT_EQ(run->count_sent<LookAtRanks>(2), 1);
    EXPECT_FALSE(hang());
    if (comes_back) run->say(2, RanksMove{});
    run->after(Settings().silence_limit);
    EXPECT_EQ(hang().has_value(), !comes_back);
    EXPECT_EQ(run->count_sent<Stop>(2), comes_back ? 0 : 1);
  }
}

TEST_F(Hanging, EndsTheRun) {
  begin(OnHang::abort, 5);
  all_stand_still();
  run->after(15s);
  all_are_seen();
  EXPECT_EQ(run->count_sent<Stop>(0), 1);
  for (int node = 0; node < 3; ++node) run->say(node, Gone{});
  EXPECT_EQ(run->verdict().kind, model::CauseKind::hang);
  EXPECT_EQ(run->verdict().node, "n1");
  EXPECT_EQ(run->verdict().exit_code, 1);
  EXPECT_EQ(run->coordinator.course().attempts.size(), 1u);
}

TEST_F(Hanging, StartsAgainAndCountsAsAFailure) {
  begin(OnHang::restart, 1);
  for (int attempt = 0; attempt < 2; ++attempt) {
    if (attempt > 0) run->all_start(3);
    all_stand_still();
    run->after(15s);
    all_are_seen(attempt);
    for (int node = 0; node < 3; ++node) run->say(node, Gone{});
    run->after(2s);
  }
  EXPECT_EQ(run->coordinator.course().attempts.size(), 2u);
  EXPECT_EQ(run->coordinator.course().restarts, 1);
  EXPECT_EQ(run->verdict().kind, model::CauseKind::hang);
}

TEST_F(Hanging, WhoAsksHearsWhereTheRanksStand) {
  begin(OnHang::report);
  run->on(PlacesAsked{7});
  run->on(PlacesAsked{8});
  EXPECT_EQ(run->count_sent<LookAtRanks>(0), 1);
  all_are_seen();
  ASSERT_EQ(run->places.size(), 1u);
  EXPECT_EQ(run->places.front().questions, (std::vector{7, 8}));
  EXPECT_EQ(run->places.front().places.groups.size(), 2u);
  EXPECT_FALSE(hang());
}

TEST_F(Hanging, WhoAsksAtTheEndHearsThatNoRankRuns) {
  begin(OnHang::report);
  run->on(PlacesAsked{7});
  for (int node = 0; node < 3; ++node) run->say(node, Gone{});
  ASSERT_EQ(run->places.size(), 1u);
  EXPECT_TRUE(run->places.front().places.groups.empty());
  run->on(PlacesAsked{8});
  EXPECT_EQ(run->places.size(), 2u);
}

}  // namespace
}  // namespace toprun::run
