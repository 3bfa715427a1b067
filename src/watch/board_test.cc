#include "watch/board.h"

#include <gtest/gtest.h>

#include <string>

namespace toprun::watch {
namespace {

std::string states(const Board& board) {
  std::string text;
  for (const RankFigures& rank : board.ranks()) text += static_cast<char>(rank.state);
  return text;
}

agent::WorkerExit exit_of(int rank, int code, bool ours = false) {
  agent::WorkerExit exit;
  exit.rank = rank;
  exit.exit_code = code;
  exit.ours = ours;
  return exit;
}

TEST(Board, FollowsEachRank) {
  Board board;
  board.begin(2, 4);
  EXPECT_EQ(states(board), "nnnn");
  board.started({0, 0, 2});
  EXPECT_EQ(states(board), "rrnn");
  board.started({1, 2, 2});
  board.ended(exit_of(0, 0));
  board.ended(exit_of(3, 7));
  board.ended(exit_of(2, 1, true));
  EXPECT_EQ(states(board), "drkf");
  board.lost({0, 0, 2});
  EXPECT_EQ(states(board), "dlkf");
}

TEST(Board, KeepsFiguresOfRanksThatRun) {
  Board board;
  board.begin(1, 2);
  board.started({0, 0, 2});
  meter::Node usage;
  usage.host.cpus = 8;
  usage.ranks = {{1.5, 10u}, {0.5, 20u}};
  const SteadyTime now = std::chrono::steady_clock::now();
  board.measured({0, 0, 2}, usage, now);
  EXPECT_EQ(board.nodes()[0].at, now);
  EXPECT_EQ(board.ranks()[1].usage, usage.ranks[1]);
  board.ended(exit_of(1, 0));
  EXPECT_EQ(board.ranks()[1].usage, meter::Rank());
  board.measured({0, 0, 2}, usage, now);
  EXPECT_EQ(board.ranks()[1].usage, meter::Rank());
}

TEST(Board, TakesNothingThatIsOutOfItsPlace) {
  Board board;
  board.begin(1, 2);
  board.started({0, 1, 9});
  EXPECT_EQ(states(board), "nr");
  board.lost({0, 7, 1});
  board.ended(exit_of(-1, 0));
  board.ended(exit_of(2, 0));
  meter::Node usage;
  usage.ranks.resize(5);
  board.measured({3, 1, 5}, usage, {});
  EXPECT_EQ(states(board), "nr");
  EXPECT_FALSE(board.nodes()[0].at);
}

}  // namespace
}  // namespace toprun::watch
