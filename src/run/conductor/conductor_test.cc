#include "run/conductor/conductor.h"

#include <gtest/gtest.h>

namespace toprun::run {
namespace {

using namespace std::chrono_literals;
using model::CauseKind;
using model::WorkerExit;

const SteadyTime first_moment = SteadyTime() + 1h;

Grace quick() {
  return {10s, 5s};
}

WorkerExit exited(int rank, int code, SteadyTime when = first_moment) {
  WorkerExit exit;
  exit.rank = rank;
  exit.exit_code = code;
  exit.ended = when;
  return exit;
}

WorkerExit victim(int rank, SteadyTime when = first_moment) {
  WorkerExit exit = exited(rank, 1, when);
  exit.exception = "RuntimeError: Connection closed by peer [10.0.0.2]:4711";
  return exit;
}

WorkerExit stopped(int rank) {
  WorkerExit exit = exited(rank, 0);
  exit.signal = 15;
  exit.ours = true;
  return exit;
}

Conductor conductor_of_two() {
  return Conductor({"a", "b"}, {2, 2}, quick());
}

TEST(Conductor, EndsWithZeroOnceAllNodesAreGone) {
  Conductor conductor = conductor_of_two();
  conductor.exited(0, exited(0, 0), first_moment);
  conductor.gone(0);
  EXPECT_FALSE(conductor.over());
  conductor.exited(1, exited(1, 0), first_moment);
  conductor.gone(1);
  EXPECT_TRUE(conductor.over());
  EXPECT_TRUE(conductor.take_orders().empty());
  EXPECT_EQ(conductor.verdict().exit_code, 0);
  EXPECT_EQ(conductor.verdict().kind, std::nullopt);
}

// As `toprun bench pairs`: the others measure on, and nothing has failed.
TEST(Conductor, AFindingOfItsOwnRankIsTheExitCodeAndNoFailure) {
  Conductor conductor = conductor_of_two();
  WorkerExit finding = exited(0, model::exit_found);
  finding.program = model::own_program;
  conductor.exited(0, finding, first_moment);
  for (const auto& [node, rank] : {std::pair(0, 1), std::pair(1, 2), std::pair(1, 3)}) {
    conductor.exited(static_cast<std::size_t>(node), exited(rank, 0), first_moment);
  }
  EXPECT_TRUE(conductor.take_orders().empty());
  const Verdict verdict = conductor.verdict();
  EXPECT_EQ(verdict.exit_code, model::exit_found);
  EXPECT_EQ(verdict.kind, std::nullopt);
  for (const WorkerExit& exit : verdict.exits) EXPECT_FALSE(exit.failed());
}

TEST(Conductor, ARankThatHangsIsEndedAfterAFinding) {
  Conductor conductor = conductor_of_two();
  WorkerExit finding = exited(0, model::exit_found);
  finding.program = model::own_program;
  conductor.exited(0, finding, first_moment);
  conductor.exited(0, exited(1, 0), first_moment);
  conductor.exited(1, exited(2, 0), first_moment);
  EXPECT_TRUE(conductor.take_orders().empty());
  ASSERT_TRUE(conductor.wake_at());
  conductor.passed(*conductor.wake_at());
  EXPECT_EQ(conductor.take_orders().size(), 1u);
  conductor.exited(1, stopped(3), first_moment + 10s);
  EXPECT_EQ(conductor.verdict().exit_code, model::exit_found);
  EXPECT_EQ(conductor.verdict().kind, std::nullopt);
}

// The others would wait for the rank that refused.
TEST(Conductor, ARefusalOfItsOwnRankStopsTheOthersAtOnceAndIsNoFailure) {
  Conductor conductor = conductor_of_two();
  WorkerExit refusal = exited(0, exit_usage);
  refusal.program = model::own_program;
  conductor.exited(0, refusal, first_moment);
  EXPECT_EQ(conductor.take_orders().size(), 1u);
  for (const int rank : {1, 2, 3}) {
    conductor.exited(rank < 2 ? 0 : 1, stopped(rank), first_moment + 1s);
  }
  EXPECT_EQ(conductor.verdict().exit_code, exit_usage);
  EXPECT_EQ(conductor.verdict().kind, std::nullopt);
}

TEST(Conductor, TheSameCodeOfAUsersProgramIsAFailure) {
  Conductor conductor = conductor_of_two();
  WorkerExit failure = exited(0, model::exit_found);
  failure.program = "python3";
  conductor.exited(0, failure, first_moment);
  EXPECT_EQ(conductor.take_orders().size(), 1u);
  EXPECT_EQ(conductor.verdict().kind, CauseKind::exit);
}

TEST(Conductor, AFailureBesideAFindingDecides) {
  Conductor conductor = conductor_of_two();
  WorkerExit finding = exited(0, model::exit_found);
  finding.program = model::own_program;
  conductor.exited(0, finding, first_moment);
  conductor.exited(1, exited(2, 7), first_moment);
  EXPECT_EQ(conductor.verdict().exit_code, 7);
}

TEST(Conductor, AFailureStopsEveryNodeOnceAndAtOnce) {
  Conductor conductor = conductor_of_two();
  conductor.exited(1, exited(3, 7), first_moment);
  const auto orders = conductor.take_orders();
  ASSERT_EQ(orders.size(), 1u);
  EXPECT_EQ(orders[0].kind, Conductor::Order::Kind::stop);
  EXPECT_EQ(orders[0].grace, 10s);
  conductor.exited(0, exited(0, 9, first_moment + 1s), first_moment + 1s);
  EXPECT_TRUE(conductor.take_orders().empty());
  const Verdict verdict = conductor.verdict();
  EXPECT_EQ(verdict.exit_code, 7);
  EXPECT_EQ(verdict.kind, CauseKind::exit);
  EXPECT_EQ(verdict.node, "b");
}

TEST(Conductor, RanksThatReadTheSameTextMayFailInTheSameWay) {
  for (const char* text :
       {"SyntaxError: invalid syntax", "/env/bin/python3: No module named trainer",
        "ModuleNotFoundError: No module named 'trainer'",
        "ImportError: cannot import name 'fit' from 'trainer'"}) {
    Conductor conductor = conductor_of_two();
    const auto fails = [text](int rank) {
      WorkerExit exit = exited(rank, 1);
      exit.exception = text;
      return exit;
    };
    conductor.exited(0, fails(0), first_moment);
    conductor.exited(0, fails(1), first_moment);
    conductor.exited(1, fails(2), first_moment);
    EXPECT_TRUE(conductor.take_orders().empty()) << text;
    EXPECT_EQ(conductor.wake_at(), first_moment + 1s) << text;
    Conductor another = conductor;
    another.exited(1, exited(3, 7), first_moment);
    EXPECT_EQ(another.take_orders().size(), 1u) << "another failure stops all at once";
    conductor.passed(first_moment + 1s);
    EXPECT_EQ(conductor.take_orders().size(), 1u) << text;
  }
}

TEST(Conductor, VictimsWaitForTheirCause) {
  Conductor conductor = conductor_of_two();
  conductor.exited(0, victim(0), first_moment);
  EXPECT_TRUE(conductor.take_orders().empty());
  EXPECT_EQ(conductor.wake_at(), first_moment + 5s);
  conductor.exited(1, exited(2, 4, first_moment + 2s), first_moment + 2s);
  EXPECT_EQ(conductor.take_orders().size(), 1u);
  EXPECT_EQ(conductor.verdict().exit_code, 4);
}

TEST(Conductor, VictimsAloneStopEverybodyAfterAWhile) {
  Conductor conductor = conductor_of_two();
  conductor.exited(0, victim(0), first_moment);
  conductor.passed(first_moment + 4s);
  EXPECT_TRUE(conductor.take_orders().empty());
  conductor.passed(first_moment + 5s);
  EXPECT_EQ(conductor.take_orders().size(), 1u);
  EXPECT_EQ(conductor.wake_at(), std::nullopt);
  EXPECT_EQ(conductor.verdict().exit_code, 1);
}

WorkerExit timed_out(int rank, SteadyTime when = first_moment) {
  WorkerExit exit = exited(rank, 1, when);
  exit.exception = "RuntimeError: Timed out waiting 20000ms for recv operation to complete";
  return exit;
}

TEST(Conductor, OfACollectiveThatTimedOutTheRankThatDidNotComeIsNamed) {
  Conductor conductor = conductor_of_two();
  conductor.exited(0, timed_out(0), first_moment);
  EXPECT_TRUE(conductor.take_orders().empty());  // the other ranks time out as well
  conductor.exited(0, victim(1, first_moment + 1s), first_moment + 1s);
  conductor.exited(1, victim(3, first_moment + 1s), first_moment + 1s);
  conductor.passed(first_moment + 5s);
  EXPECT_EQ(conductor.take_orders().size(), 1u);
  conductor.exited(1, stopped(2), first_moment + 6s);
  const Verdict verdict = conductor.verdict();
  EXPECT_EQ(verdict.kind, CauseKind::hang);
  EXPECT_EQ(verdict.exit_code, 1);
  EXPECT_EQ(verdict.node, "b");
  ASSERT_EQ(verdict.absent.size(), 1u);
  EXPECT_EQ(verdict.absent[0].rank, 2);
  EXPECT_EQ(verdict.message,
            "rank 2 on b did not come to the collective in which rank 0 on a timed out: "
            "RuntimeError: Timed out waiting 20000ms for recv operation to complete");
}

TEST(Conductor, ARankThatEndedWithZeroWhileOthersNeededItIsNamed) {
  Conductor conductor = conductor_of_two();
  model::WorkerExit ended;
  ended.rank = 3;
  ended.ended = first_moment;
  conductor.exited(1, ended, first_moment);
  model::WorkerExit first = victim(1, first_moment + 1s);
  first.last_output = {
      "Traceback (most recent call last):",
      "  File \"/v/torch/distributed/c10d_logger.py\", line 83, in wrapper",
      "  File \"/v/torch/distributed/distributed_c10d.py\", line 3017, in all_reduce",
      "    work.wait()"};
  model::WorkerExit second = first;
  second.rank = 0;
  second.ended += 1s;
  conductor.exited(0, first, first_moment + 1s);
  conductor.exited(0, second, first_moment + 2s);
  conductor.exited(1, stopped(2), first_moment + 6s);
  const Verdict verdict = conductor.verdict();
  EXPECT_EQ(verdict.kind, CauseKind::ended_early);
  EXPECT_EQ(verdict.exit_code, 1);
  EXPECT_EQ(verdict.node, "b");
  EXPECT_EQ(verdict.meanwhile, "2 ranks still called all_reduce");
  ASSERT_EQ(verdict.absent.size(), 1u);
  EXPECT_EQ(verdict.absent[0].rank, 3);
  EXPECT_TRUE(verdict.message.starts_with("rank 1 on a failed as a consequence: "))
      << verdict.message;
}

TEST(Conductor, ARankThatEndedWithZeroIsNotTheCauseOfAnErrorOfItsOwn) {
  model::WorkerExit ended;
  ended.rank = 3;
  ended.ended = first_moment;
  model::WorkerExit own;
  own.rank = 1;
  own.exit_code = 7;
  own.ended = first_moment + 2s;
  for (const bool has_victim : {false, true}) {
    Conductor conductor = conductor_of_two();
    conductor.exited(1, ended, first_moment);
    if (has_victim) conductor.exited(0, victim(0, first_moment + 1s), first_moment + 1s);
    conductor.exited(0, own, first_moment + 2s);
    EXPECT_EQ(conductor.verdict().kind, CauseKind::exit);
    EXPECT_EQ(conductor.verdict().exit->rank, 1);
  }
  Conductor conductor = conductor_of_two();
  conductor.exited(0, victim(0, first_moment), first_moment);
  ended.ended = first_moment + 3s;
  conductor.exited(1, ended, first_moment + 3s);
  EXPECT_EQ(conductor.verdict().exit->rank, 0) << "it ended afterwards";
  EXPECT_EQ(conductor.verdict().kind, CauseKind::exit);
}

// Under load a rank may see the others' connections close before its own time is over.
TEST(Conductor, OfACollectiveThatTimedOutARankIsQuotedThatTimedOut) {
  Conductor conductor = conductor_of_two();
  conductor.exited(0, victim(0, first_moment), first_moment);
  conductor.exited(0, timed_out(1, first_moment + 1s), first_moment + 1s);
  conductor.exited(1, timed_out(3, first_moment + 2s), first_moment + 2s);
  conductor.exited(1, stopped(2), first_moment + 6s);
  EXPECT_EQ(conductor.verdict().message,
            "rank 2 on b did not come to the collective in which rank 1 on a timed out: "
            "RuntimeError: Timed out waiting 20000ms for recv operation to complete");
}

TEST(Conductor, WhereMostLivedOrOneHadAnErrorOfItsOwnNobodyIsSaidToBeAbsent) {
  Conductor most_lived = conductor_of_two();
  most_lived.exited(0, timed_out(0), first_moment);
  for (const int rank : {1, 2, 3})
    most_lived.exited(static_cast<std::size_t>(rank) / 2, stopped(rank), first_moment + 6s);
  EXPECT_EQ(most_lived.verdict().kind, CauseKind::exit);

  Conductor own_error = conductor_of_two();
  own_error.exited(0, timed_out(0), first_moment);
  own_error.exited(1, exited(2, 4), first_moment + 1s);
  own_error.exited(0, stopped(1), first_moment + 2s);
  own_error.exited(1, stopped(3), first_moment + 2s);
  EXPECT_EQ(own_error.verdict().kind, CauseKind::exit);
  EXPECT_EQ(own_error.verdict().exit_code, 4);
}

TEST(Conductor, ALostNodeIsTheCauseOfItsVictims) {
  Conductor conductor = conductor_of_two();
  conductor.exited(0, victim(0), first_moment);
  conductor.lost(1, true, "no message for 10.0 s", first_moment);
  EXPECT_EQ(conductor.take_orders().size(), 1u);
  conductor.exited(0, stopped(1), first_moment + 1s);
  conductor.gone(0);
  EXPECT_TRUE(conductor.over());
  const Verdict verdict = conductor.verdict();
  EXPECT_EQ(verdict.kind, CauseKind::node_lost);
  EXPECT_EQ(verdict.node, "b");
  EXPECT_EQ(verdict.exit_code, 1);
}

TEST(Conductor, ARootThatLosesAllOthersAccusesNone) {
  Conductor conductor({"a", "b", "c"}, {1, 1, 1}, {});
  conductor.lost(1, true, "no message for 10.0 s", first_moment);
  conductor.lost(2, true, "no message for 10.1 s", first_moment);
  EXPECT_EQ(conductor.verdict().kind, CauseKind::node_lost);
  EXPECT_EQ(conductor.verdict().node, "");
  EXPECT_TRUE(conductor.verdict().message.starts_with("a, where the root is, lost b,c "))
      << conductor.verdict().message;
  Conductor one_is_lost({"a", "b", "c"}, {1, 1, 1}, {});
  one_is_lost.lost(1, true, "no message for 10.0 s", first_moment);
  one_is_lost.lost(2, false, "the connection was closed", first_moment);
  EXPECT_EQ(one_is_lost.verdict().node, "b");
}

TEST(Conductor, OfTwoNodesEitherMayBeCutOff) {
  Conductor silent({"a", "b"}, {1, 1}, {});
  silent.lost(1, true, "no message for 10.0 s", first_moment);
  EXPECT_EQ(silent.verdict().node, "b");
  EXPECT_EQ(silent.verdict().message,
            "no message for 10.0 s: this does not tell whether b failed, or the network of b or of "
            "a, where the root is");
  Conductor closed({"a", "b"}, {1, 1}, {});
  closed.lost(1, false, "the connection was closed", first_moment);
  EXPECT_EQ(closed.verdict().message, "the connection was closed");
  Conductor one_host({"a", "a"}, {1, 1}, {});
  one_host.lost(1, true, "no message for 10.0 s", first_moment);
  EXPECT_EQ(one_host.verdict().message, "no message for 10.0 s");
}

TEST(Conductor, ANodeThatIsGoneCannotBeLost) {
  Conductor conductor = conductor_of_two();
  conductor.gone(1);
  conductor.lost(1, false, "the connection was closed", first_moment);
  EXPECT_TRUE(conductor.take_orders().empty());
}

TEST(Conductor, ANodeWhoseRanksHaveEndedMayGo) {
  Conductor conductor = conductor_of_two();
  for (const int rank : {2, 3}) conductor.exited(1, exited(rank, 0), first_moment);
  conductor.lost(1, true, "no message for 10.0 s", first_moment);
  EXPECT_TRUE(conductor.take_orders().empty());
  for (const int rank : {0, 1}) conductor.exited(0, exited(rank, 0), first_moment);
  conductor.gone(0);
  EXPECT_TRUE(conductor.over());
  EXPECT_EQ(conductor.verdict().exit_code, 0);
}

TEST(Conductor, ANodeThatKilledItsRanksBeforeItWentIsLost) {
  Conductor conductor = conductor_of_two();
  for (const int rank : {2, 3}) conductor.exited(1, stopped(rank), first_moment);
  conductor.lost(1, false, "the keeper of its agent was killed", first_moment);
  EXPECT_EQ(conductor.take_orders().size(), 1u);
  EXPECT_EQ(conductor.verdict().kind, CauseKind::agent_lost);
}

TEST(Conductor, TheRootsLossEndsTheJobAlsoWhenItsRanksHaveEnded) {
  Conductor conductor = conductor_of_two();
  for (const int rank : {0, 1}) conductor.exited(0, exited(rank, 0), first_moment);
  conductor.gone(0);
  conductor.root_lost(0, "the keeper of its agent was killed", first_moment);
  EXPECT_EQ(conductor.take_orders().size(), 1u);
  EXPECT_EQ(conductor.verdict().kind, CauseKind::agent_lost);
  EXPECT_TRUE(conductor.verdict().ordered_to_end);
}

TEST(Conductor, AFailureBeforeTheLossStaysTheCause) {
  Conductor conductor = conductor_of_two();
  conductor.exited(0, exited(0, 3), first_moment);
  conductor.lost(1, false, "the connection was closed", first_moment);
  EXPECT_EQ(conductor.verdict().exit_code, 3);
}

TEST(Conductor, ASignalInterruptsAndASecondOneKills) {
  Conductor conductor = conductor_of_two();
  conductor.signalled(0, 2, first_moment);
  conductor.signalled(1, 2, first_moment);  // the same signal, from another agent
  auto orders = conductor.take_orders();
  ASSERT_EQ(orders.size(), 1u);
  EXPECT_EQ(orders[0].kind, Conductor::Order::Kind::interrupt);
  EXPECT_EQ(orders[0].signal, 2);
  conductor.signalled(0, 2, first_moment);
  orders = conductor.take_orders();
  ASSERT_EQ(orders.size(), 1u);
  EXPECT_EQ(orders[0].kind, Conductor::Order::Kind::stop);
  EXPECT_EQ(orders[0].grace, 0s);
  WorkerExit interrupted = exited(0, 0);
  interrupted.signal = 2;
  conductor.exited(0, interrupted, first_moment + 3s);
  EXPECT_EQ(conductor.verdict().exit_code, 130);
  EXPECT_EQ(conductor.verdict().kind, CauseKind::interrupted);
}

TEST(Conductor, ASignalDuringAFailuresGraceEndsIt) {
  Conductor conductor = conductor_of_two();
  conductor.exited(0, exited(0, 3), first_moment);
  EXPECT_EQ(conductor.take_orders().size(), 1u);
  EXPECT_FALSE(conductor.verdict().ordered_to_end);
  conductor.signalled(1, 15, first_moment + 1s);
  const auto orders = conductor.take_orders();
  ASSERT_EQ(orders.size(), 1u);
  EXPECT_EQ(orders[0].grace, 0s);
  EXPECT_EQ(conductor.verdict().exit_code, 3);
  EXPECT_TRUE(conductor.verdict().ordered_to_end);
}

// A rank may exit because of the job's signal before its agent tells of it: that one shortens no
// grace, whatever its own exit code.
TEST(Conductor, ASignalRightAfterAFailureIsPassedOn) {
  Conductor conductor = conductor_of_two();
  conductor.exited(0, exited(0, 3), first_moment);
  EXPECT_EQ(conductor.take_orders().size(), 1u);
  conductor.signalled(1, 15, first_moment + 200ms);
  conductor.signalled(0, 15, first_moment + 1500ms);  // of the same wish, on a slow way
  auto orders = conductor.take_orders();
  ASSERT_EQ(orders.size(), 1u);
  EXPECT_EQ(orders[0].kind, Conductor::Order::Kind::interrupt);
  EXPECT_EQ(orders[0].grace, 10s);
  EXPECT_EQ(conductor.verdict().exit_code, 3) << "it failed first";
  EXPECT_TRUE(conductor.verdict().ordered_to_end);
  conductor.signalled(1, 15, first_moment + 2s);
  orders = conductor.take_orders();
  ASSERT_EQ(orders.size(), 1u);
  EXPECT_EQ(orders[0].grace, 0s);
}

TEST(Conductor, AWorkerMayDieOfTheJobsSignalBeforeItsAgentTellsOfIt) {
  Conductor conductor = conductor_of_two();
  WorkerExit killed = exited(0, 0);
  killed.signal = 15;
  conductor.exited(0, killed, first_moment);
  EXPECT_EQ(conductor.take_orders().size(), 1u);
  EXPECT_EQ(conductor.verdict().kind, CauseKind::signal);
  conductor.signalled(0, 15, first_moment);
  const auto orders = conductor.take_orders();
  ASSERT_EQ(orders.size(), 1u);
  EXPECT_EQ(orders[0].kind, Conductor::Order::Kind::interrupt);
  EXPECT_EQ(orders[0].grace, 10s);
  EXPECT_EQ(conductor.verdict().kind, CauseKind::interrupted);
  EXPECT_EQ(conductor.verdict().exit_code, 143);
}

TEST(Conductor, ANodeThatLeavesStopsTheOthersWithTheirGrace) {
  Conductor conductor = conductor_of_two();
  conductor.leaving(1, 15, first_moment);
  auto orders = conductor.take_orders();
  ASSERT_EQ(orders.size(), 1u);
  EXPECT_EQ(orders[0].kind, Conductor::Order::Kind::stop);
  EXPECT_EQ(orders[0].grace, 10s);
  EXPECT_EQ(conductor.verdict().kind, CauseKind::interrupted);
  EXPECT_EQ(conductor.verdict().node, "b");
  EXPECT_FALSE(conductor.verdict().ordered_to_end);

  conductor.signalled(0, 15, first_moment);  // the same signal at the root: the whole job must end
  orders = conductor.take_orders();
  ASSERT_EQ(orders.size(), 1u);
  EXPECT_EQ(orders[0].kind, Conductor::Order::Kind::interrupt);
  EXPECT_EQ(orders[0].grace, 10s);
  EXPECT_TRUE(conductor.verdict().ordered_to_end);
}

TEST(Conductor, WorkersThatEndWellAfterASignalMakeAGoodRun) {
  Conductor conductor = conductor_of_two();
  conductor.signalled(0, 15, first_moment);
  conductor.exited(0, exited(0, 0), first_moment + 1s);
  conductor.exited(1, exited(1, 0), first_moment + 1s);
  EXPECT_EQ(conductor.verdict().exit_code, 0);
}

TEST(Conductor, AsTorchrunNoRunThatASignalEndedIsGood) {
  Conductor conductor({"a"}, {1}, quick(), EndedWell::failed);
  conductor.signalled(0, 15, first_moment);
  conductor.exited(0, exited(0, 0), first_moment);
  conductor.gone(0);
  EXPECT_EQ(conductor.verdict().exit_code, 1);
  EXPECT_EQ(conductor.verdict().kind, CauseKind::interrupted);
  EXPECT_EQ(conductor.verdict().message, "ended by SIGTERM");

  Conductor undisturbed({"a"}, {1}, quick(), EndedWell::failed);
  undisturbed.exited(0, exited(0, 0), first_moment);
  undisturbed.gone(0);
  EXPECT_EQ(undisturbed.verdict().exit_code, 0);
}

TEST(Conductor, ANodeThatCannotStartIsTheCause) {
  Conductor conductor = conductor_of_two();
  conductor.failed(1, Error{"cannot start python3", "not found", "", 2}, first_moment);
  EXPECT_EQ(conductor.take_orders().size(), 1u);
  conductor.exited(0, stopped(0), first_moment);
  EXPECT_EQ(conductor.verdict().exit_code, 2);
  EXPECT_EQ(conductor.verdict().kind, CauseKind::launcher);
  EXPECT_EQ(conductor.verdict().node, "b");
}

Conductor growing(Grow grow) {
  return Conductor({"a", "b"}, {1, 1}, {10s, 5s, 1s}, EndedWell::done, grow);
}

bool stops(Conductor& conductor) {
  const auto orders = conductor.take_orders();
  return orders.size() == 1 && orders[0].kind == Conductor::Order::Kind::stop &&
         orders[0].grace == 10s;
}

void end_all(Conductor& conductor, const WorkerExit& first, const WorkerExit& second) {
  conductor.exited(0, first, first_moment);
  conductor.exited(1, second, first_moment);
  conductor.gone(0);
  conductor.gone(1);
}

TEST(Growing, NowMeansWithinASecondOfTheFirstNewcomer) {
  Conductor conductor = growing(Grow::now);
  conductor.newcomers(1, false, first_moment);
  EXPECT_EQ(conductor.wake_at(), first_moment + 1s);
  conductor.newcomers(2, false, first_moment + 900ms);
  EXPECT_EQ(conductor.wake_at(), first_moment + 1s);
  EXPECT_TRUE(conductor.take_orders().empty());
  conductor.passed(first_moment + 1s);
  EXPECT_TRUE(stops(conductor));
  end_all(conductor, stopped(0), stopped(1));
  EXPECT_TRUE(conductor.over());
  EXPECT_EQ(conductor.verdict().kind, CauseKind::grown);
  EXPECT_EQ(conductor.verdict().message, "2 nodes have joined: all ranks start again with them");
}

TEST(Growing, TheLastThatCanComeIsNotWaitedFor) {
  Conductor conductor = growing(Grow::now);
  conductor.newcomers(1, true, first_moment);
  EXPECT_TRUE(stops(conductor));
}

TEST(Growing, WhoHasGoneAgainInterruptsNobody) {
  Conductor conductor = growing(Grow::now);
  conductor.newcomers(1, false, first_moment);
  conductor.newcomers(0, false, first_moment + 500ms);
  EXPECT_FALSE(conductor.wake_at());
  conductor.passed(first_moment + 2s);
  EXPECT_TRUE(conductor.take_orders().empty());
}

TEST(Growing, OtherwiseNewcomersWaitUntilTheUserSaysSo) {
  Conductor at_restart = growing(Grow::at_restart);
  at_restart.newcomers(1, true, first_moment);
  EXPECT_FALSE(at_restart.asked_to_grow(first_moment));
  EXPECT_TRUE(at_restart.take_orders().empty());

  Conductor on_signal = growing(Grow::on_signal);
  EXPECT_FALSE(on_signal.asked_to_grow(first_moment));  // no newcomer waits
  on_signal.newcomers(1, true, first_moment);
  EXPECT_TRUE(on_signal.take_orders().empty());
  EXPECT_TRUE(on_signal.asked_to_grow(first_moment));
  EXPECT_TRUE(stops(on_signal));
  EXPECT_FALSE(
      on_signal.asked_to_grow(first_moment));  // all agents of a step get the signal at once
  EXPECT_TRUE(on_signal.take_orders().empty());
}

TEST(Growing, AnAttemptThatIsEndingIsLeftToEnd) {
  Conductor conductor = growing(Grow::now);
  conductor.exited(0, exited(0, 0), first_moment);
  conductor.newcomers(1, true, first_moment);
  EXPECT_TRUE(conductor.take_orders().empty());
  conductor.exited(1, exited(1, 0), first_moment);
  EXPECT_EQ(conductor.verdict().kind, std::nullopt);

  Conductor crossing = growing(Grow::now);  // the ranks end while the stop order is on its way
  crossing.newcomers(1, true, first_moment);
  end_all(crossing, exited(0, 0), exited(1, 0));
  EXPECT_EQ(crossing.verdict().exit_code, 0);
  EXPECT_EQ(crossing.verdict().kind, std::nullopt);
}

TEST(Growing, WhatHappensMeanwhileCounts) {
  Conductor victims = growing(Grow::now);
  victims.newcomers(1, true, first_moment);
  end_all(victims, stopped(0), victim(1));
  EXPECT_EQ(victims.verdict().kind, CauseKind::grown);

  Conductor lost = growing(Grow::now);
  lost.newcomers(1, true, first_moment);
  lost.lost(1, true, "no word", first_moment);
  lost.exited(0, stopped(0), first_moment);
  lost.gone(0);
  EXPECT_EQ(lost.verdict().kind, CauseKind::node_lost);

  Conductor reported = growing(Grow::now);
  reported.newcomers(1, true, first_moment);
  EXPECT_TRUE(stops(reported));
  reported.signalled(0, 15, first_moment);
  const auto orders = reported.take_orders();
  ASSERT_EQ(orders.size(), 1u);
  EXPECT_EQ(orders[0].kind, Conductor::Order::Kind::interrupt);
  end_all(reported, stopped(0), stopped(1));
  EXPECT_TRUE(reported.verdict().ordered_to_end);
  EXPECT_EQ(reported.verdict().exit_code, 143);
}

}  // namespace
}  // namespace toprun::run
