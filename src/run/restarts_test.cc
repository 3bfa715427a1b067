#include "run/restarts.h"

#include <gtest/gtest.h>

namespace toprun::run {
namespace {

using namespace std::chrono_literals;
using view::CauseKind;

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
  auto next = restarts.after(failed(), 1h);
  EXPECT_TRUE(next.again);
  EXPECT_EQ(next.words, "restart 1 of 2");
  EXPECT_EQ(next.pause, 0ms);
  EXPECT_EQ(restarts.count(), 1);
  EXPECT_TRUE(restarts.after(failed(), 1h).again);
  next = restarts.after(failed(), 1h);
  EXPECT_FALSE(next.again);
  EXPECT_EQ(next.words, "all of --max-restarts 2 are used up");
  EXPECT_EQ(restarts.count(), 2);
}

TEST(Restarts, AreForFailuresAndLossesOnly) {
  struct Case {
    Verdict verdict;
    Size size;
    bool again;
  };
  Verdict told = failed();
  told.told_to_end = true;
  const Size rigid{2, 2, false};
  const Case cases[] = {
      {Verdict{}, fixed, false},  // all ended with success
      {failed(), fixed, true},
      {failed(), rigid, true},  // its members are all still present
      {failed(93), fixed, false},
      {told, fixed, false},
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
    EXPECT_EQ(restarts.after(one.verdict, 1h).again, one.again) << one.verdict.message;
  }
}

TEST(Restarts, LossesDoNotUseThemUp) {
  Restarts restarts({1, 2, true}, 0);
  for (int i = 0; i < 5; ++i) EXPECT_TRUE(restarts.after(of_kind(CauseKind::node_lost), 1h).again);
  EXPECT_EQ(restarts.count(), 0);
  EXPECT_FALSE(restarts.after(failed(), 1h).again);
}

TEST(Restarts, NewcomersDoNotUseThemUp) {
  Restarts restarts({1, 2, true}, 1);
  for (int i = 0; i < 5; ++i) {
    EXPECT_TRUE(restarts.after(of_kind(CauseKind::grown, ""), 300ms).again);
  }
  EXPECT_EQ(restarts.count(), 0);
  EXPECT_TRUE(restarts.after(failed(), 1h).again);
}

TEST(Restarts, StopWhenTheSameFailureComesAtOnceThreeTimes) {
  Restarts restarts(fixed, 10);
  EXPECT_TRUE(restarts.after(failed(1, "ImportError: x"), 300ms).again);
  EXPECT_TRUE(restarts.after(failed(1, "ImportError: x"), 300ms).again);
  const auto next = restarts.after(failed(1, "ImportError: x"), 300ms);
  EXPECT_FALSE(next.again);
  EXPECT_EQ(next.words, "not restarted: the same failure 3 times, each within 1.0 s of the start");
}

TEST(Restarts, GoOnWhenFailuresDifferOrTakeTime) {
  Restarts differ(fixed, 10);
  for (int i = 0; i < 6; ++i) {
    EXPECT_TRUE(differ.after(failed(1, i % 2 == 0 ? "A: x" : "B: y"), 300ms).again);
  }
  Restarts take_time(fixed, 10);
  for (int i = 0; i < 6; ++i) EXPECT_TRUE(take_time.after(failed(), 2s).again);
}

TEST(Restarts, PauseBetweenShortLivesWhateverEndedThem) {
  using Pauses = std::vector<std::chrono::milliseconds>;
  const std::vector<std::vector<Verdict>> causes = {
      {failed()},
      {of_kind(CauseKind::hang)},
      {of_kind(CauseKind::grown, "")},
      {of_kind(CauseKind::interrupted)},
      {of_kind(CauseKind::node_lost), of_kind(CauseKind::agent_lost, "n2")},
      {failed(), of_kind(CauseKind::agent_lost), of_kind(CauseKind::grown, "")},
  };
  for (const std::vector<Verdict>& kinds : causes) {
    Restarts restarts(fixed, 20);
    Pauses pauses;
    for (std::size_t i = 0; i < 8; ++i) {
      pauses.push_back(restarts.after(kinds[i % kinds.size()], 2s).pause);
    }
    EXPECT_EQ(pauses, (Pauses{0s, 1s, 2s, 4s, 8s, 16s, 30s, 30s}));
    EXPECT_EQ(restarts.after(kinds.front(), 1h).pause, 0s);
    EXPECT_EQ(restarts.after(kinds.front(), 2s).pause, 0s);
    EXPECT_EQ(restarts.after(kinds.front(), std::nullopt).pause, 1s) << "it never started";
  }
}

TEST(Restarts, TellWhichNodeIsLostAgainAndAgain) {
  Restarts restarts(fixed, 1);
  const auto lose = [&](const char* node, std::chrono::milliseconds lived) {
    return restarts.after(of_kind(CauseKind::agent_lost, node), lived).lost_too_often;
  };
  EXPECT_EQ(lose("n1", 2s), "");
  EXPECT_EQ(lose("n2", 2s), "");
  EXPECT_EQ(lose("n1", 2s), "");
  EXPECT_EQ(restarts.after(of_kind(CauseKind::interrupted), 2s).lost_too_often, "") << "it left";
  EXPECT_EQ(lose("n1", 2s), "n1");
  EXPECT_EQ(lose("n1", 1h), "") << "work was done meanwhile";
  EXPECT_EQ(lose("n1", 2s), "");
}

}  // namespace
}  // namespace toprun::run
