#include "run/conductor/restarts.h"

#include <gtest/gtest.h>

namespace toprun::run {
namespace {

using namespace std::chrono_literals;
using model::CauseKind;

constexpr Size fixed{2, 2, true};

Verdict failed(int code = 1, std::string exception = "") {
  Verdict verdict;
  verdict.kind = CauseKind::exit;
  verdict.exit_code = code;
  verdict.node = "n1";
  verdict.exit.emplace();
  verdict.exit->exit_code = code;
  verdict.exit->exception = std::move(exception);
  return verdict;
}

Verdict of_kind(CauseKind kind, std::string node = "n1") {
  Verdict verdict;
  verdict.kind = kind;
  verdict.node = std::move(node);
  verdict.exit_code = 1;
  return verdict;
}

TEST(Restarts, FollowFailuresWhileThereAreAny) {
  Restarts restarts(fixed, 2);
  auto next = restarts.after(failed(), {1h, true});
  EXPECT_TRUE(next.again);
  EXPECT_EQ(next.words, "restart 1 of 2");
  EXPECT_EQ(next.pause, 0ms);
  EXPECT_EQ(restarts.count(), 1);
  EXPECT_TRUE(restarts.after(failed(), {1h, true}).again);
  next = restarts.after(failed(), {1h, true});
  EXPECT_FALSE(next.again);
  EXPECT_EQ(next.words, "all of --max-restarts 2 are used up");
  EXPECT_EQ(restarts.count(), 2);
}

TEST(Restarts, EndAfterTheSameImportErrorHoweverLongTheImportsTook) {
  const Verdict missing = failed(1, "ModuleNotFoundError: No module named 'nosuchmod'");
  Restarts restarts(fixed, 9);
  EXPECT_TRUE(restarts.after(missing, {20s, false}).again);
  EXPECT_TRUE(restarts.after(missing, {20s, false}).again);
  const auto next = restarts.after(missing, {20s, false});
  EXPECT_FALSE(next.again);
  EXPECT_EQ(next.words,
            "not restarted: the job failed 3 times in the same way, each time before all ranks had "
            "connected to the store");
  Restarts while_training(fixed, 9);
  Restarts of_others(fixed, 9);
  for (int i = 0; i < 6; ++i) {
    EXPECT_TRUE(while_training.after(missing, {20s, true}).again);
    EXPECT_TRUE(of_others.after(failed(1, "ValueError: x"), {20s, false}).again);
  }
}

TEST(Restarts, AnAbortAfterTheSameExceptionIsTheSameFailure) {
  Verdict raised = failed(1, "ValueError: x");
  raised.exit->last_output = {"[rank0]: Traceback (most recent call last):",
                              "[rank0]:   File \"/a.py\", line 1, in <module>",
                              "[rank0]: ValueError: x"};
  Verdict aborted = raised;
  aborted.kind = CauseKind::signal;
  aborted.exit->exit_code = 0;
  aborted.exit->signal = 6;
  Restarts restarts(fixed, 9);
  EXPECT_TRUE(restarts.after(raised, {0s, true}).again);
  EXPECT_TRUE(restarts.after(aborted, {0s, true}).again);
  EXPECT_FALSE(restarts.after(raised, {0s, true}).again);
}

TEST(Restarts, AreNotForWhatIsWrongInTheProgramsText) {
  Verdict refused = failed(2);
  refused.exit->last_output = {"usage: x.py [-h]", "x.py: error: unrecognized arguments: --lr"};
  for (const Verdict& verdict : {failed(1, "IndentationError: unexpected indent"),
                                 failed(1, "SyntaxError: invalid syntax"), refused}) {
    Restarts restarts(fixed, 9);
    const auto next = restarts.after(verdict, {5s, false});
    EXPECT_FALSE(next.again);
    EXPECT_EQ(next.words, "not restarted: the program's text or arguments are at fault");
  }
  Restarts restarts(fixed, 9);
  EXPECT_TRUE(restarts.after(failed(2), {5s, false}).again) << "2 alone says nothing";
  EXPECT_TRUE(restarts.after(failed(1, "SyntaxError: x"), {5s, true}).again) << "while it trained";
}

TEST(Restarts, AreForFailuresAndLossesOnly) {
  struct Case {
    Verdict verdict;
    Size size;
    bool again;
  };
  Verdict reported = failed();
  reported.ordered_to_end = true;
  const Size rigid{2, 2, false};
  const Case cases[] = {
      {Verdict{}, fixed, false},  // all ended with success
      {failed(), fixed, true},
      {failed(), rigid, true},  // its members are all still present
      {failed(93), fixed, false},
      {reported, fixed, false},
      {of_kind(CauseKind::node_lost), fixed, true},
      {of_kind(CauseKind::agent_lost), fixed, true},
      {of_kind(CauseKind::node_lost), rigid, false},
      {of_kind(CauseKind::interrupted), fixed, true},  // one node left
      {of_kind(CauseKind::interrupted, ""), fixed, false},
      {of_kind(CauseKind::launcher), fixed, false},
      {of_kind(CauseKind::join_timeout, ""), fixed, false},
  };
  for (const Case& one : cases) {
    Restarts restarts(one.size, 1);
    EXPECT_EQ(restarts.after(one.verdict, {1h, true}).again, one.again) << one.verdict.message;
  }
}

TEST(Restarts, LossesDoNotUseThemUp) {
  Restarts restarts({1, 2, true}, 0);
  for (int i = 0; i < 5; ++i)
    EXPECT_TRUE(restarts.after(of_kind(CauseKind::node_lost), {1h, true}).again);
  EXPECT_EQ(restarts.count(), 0);
  EXPECT_FALSE(restarts.after(failed(), {1h, true}).again);
}

TEST(Restarts, NewcomersDoNotUseThemUp) {
  Restarts restarts({1, 2, true}, 1);
  for (int i = 0; i < 5; ++i) {
    EXPECT_TRUE(restarts.after(of_kind(CauseKind::grown, ""), {300ms, true}).again);
  }
  EXPECT_EQ(restarts.count(), 0);
  EXPECT_TRUE(restarts.after(failed(), {1h, true}).again);
}

TEST(Restarts, StopWhenTheSameFailureComesAtOnceThreeTimes) {
  Restarts restarts(fixed, 10);
  EXPECT_TRUE(restarts.after(failed(1, "ImportError: x"), {300ms, true}).again);
  EXPECT_TRUE(restarts.after(failed(1, "ImportError: x"), {300ms, true}).again);
  const auto next = restarts.after(failed(1, "ImportError: x"), {300ms, true});
  EXPECT_FALSE(next.again);
  EXPECT_EQ(
      next.words,
      "not restarted: the job failed 3 times in the same way, each time within 1.0 s of the start");
}

TEST(Restarts, GoOnWhenFailuresDifferOrTakeTime) {
  Restarts differ(fixed, 10);
  for (int i = 0; i < 6; ++i) {
    EXPECT_TRUE(differ.after(failed(1, i % 2 == 0 ? "A: x" : "B: y"), {300ms, true}).again);
  }
  Restarts take_time(fixed, 10);
  for (int i = 0; i < 6; ++i) EXPECT_TRUE(take_time.after(failed(), {2s, true}).again);
}

TEST(Restarts, PauseBetweenShortLivesWhateverEndedThem) {
  using Pauses = std::vector<std::chrono::milliseconds>;
  const std::vector<std::vector<Verdict>> causes = {
      {failed()},
      {of_kind(CauseKind::hang)},
      {of_kind(CauseKind::grown, "")},
      {of_kind(CauseKind::interrupted)},
      {failed(), of_kind(CauseKind::interrupted), of_kind(CauseKind::grown, "")},
  };
  for (const std::vector<Verdict>& kinds : causes) {
    Restarts restarts(fixed, 20);
    Pauses pauses;
    for (std::size_t i = 0; i < 8; ++i) {
      pauses.push_back(restarts.after(kinds[i % kinds.size()], {2s, true}).pause);
    }
    EXPECT_EQ(pauses, (Pauses{0s, 1s, 2s, 4s, 8s, 16s, 30s, 30s}));
    EXPECT_EQ(restarts.after(kinds.front(), {1h, true}).pause, 0s);
    EXPECT_EQ(restarts.after(kinds.front(), {2s, true}).pause, 0s);
    EXPECT_EQ(restarts.after(kinds.front(), {std::nullopt, true}).pause, 1s) << "it never started";
  }
}

TEST(Restarts, TheFirstLossOfANodeNeedsNoPause) {
  Restarts restarts(fixed, 20);
  const auto pause_after = [&](const Verdict& verdict) {
    return restarts.after(verdict, {2s, true}).pause;
  };
  for (const char* node : {"n1", "n2", "n3", "n4"}) {
    EXPECT_EQ(pause_after(of_kind(CauseKind::node_lost, node)), 0s) << node;
  }
  EXPECT_EQ(pause_after(of_kind(CauseKind::agent_lost, "n2")), 8s) << "it is lost again";
  EXPECT_EQ(pause_after(failed()), 16s) << "those were short lives as well";
}

TEST(Restarts, TellWhichNodeIsLostAgainAndAgain) {
  Restarts restarts(fixed, 1);
  const auto lose = [&](const char* node, std::chrono::milliseconds lived) {
    return restarts.after(of_kind(CauseKind::agent_lost, node), {lived, true}).lost_too_often;
  };
  EXPECT_EQ(lose("n1", 2s), "");
  EXPECT_EQ(lose("n2", 2s), "");
  EXPECT_EQ(lose("n1", 2s), "");
  EXPECT_EQ(restarts.after(of_kind(CauseKind::interrupted), {2s, true}).lost_too_often, "")
      << "it left";
  EXPECT_EQ(lose("n1", 2s), "n1");
  EXPECT_EQ(lose("n1", 1h), "") << "work was done meanwhile";
  EXPECT_EQ(lose("n1", 2s), "");
}

}  // namespace
}  // namespace toprun::run
