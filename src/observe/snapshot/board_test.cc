#include "observe/snapshot/board.h"

#include <gtest/gtest.h>

#include <csignal>
#include <string>

namespace toprun::snapshot {
namespace {

std::string states(const Board& board) {
  std::string text;
  for (const RankFigures& rank : board.ranks()) text += static_cast<char>(rank.state);
  return text;
}

model::WorkerExit exit_of(int rank, int code, bool ours = false) {
  model::WorkerExit exit;
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

model::WorkerExit killed_by(int rank, int signal) {
  model::WorkerExit exit = exit_of(rank, 0);
  exit.signal = signal;
  return exit;
}

TEST(Board, ARankThatEndedByTheJobsSignalWasStopped) {
  Board board;
  board.begin(1, 6);
  board.started({0, 0, 6});
  board.ended(killed_by(0, SIGTERM));  // Slurm signals ranks and agents alike
  board.ended(killed_by(1, SIGSEGV));
  EXPECT_EQ(states(board), "ffrrrr");
  board.ordered_to_end(SIGTERM);
  EXPECT_EQ(states(board), "kfrrrr");
  board.ended(killed_by(2, SIGTERM));
  board.ended(exit_of(3, 128 + SIGTERM));
  board.ended(exit_of(4, 1));
  board.ended(exit_of(5, 0));
  EXPECT_EQ(states(board), "kfkkfd");
  board.begin(1, 1);
  board.started({0, 0, 1});
  board.ended(killed_by(0, SIGTERM));
  EXPECT_EQ(states(board), "f") << "another attempt";
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

TEST(Board, KeepsTheLastLineOfWhatHasEnded) {
  Board board;
  board.begin(1, 4);
  board.started({0, 0, 4});
  meter::Node usage;
  usage.ranks.resize(4);
  for (meter::Rank& rank : usage.ranks) rank.last_line = "step 3";
  board.measured({0, 0, 4}, usage, {});
  board.ended(exit_of(0, 0));
  model::WorkerExit raised = exit_of(1, 1);
  raised.last_output = {"[rank1]: ValueError: boom", "WARNING: destroy_process_group"};
  raised.exception = "ValueError: boom of hf_abcdefghijklmnopqrstuvwxyz012345\nmore";
  board.ended(raised);
  model::WorkerExit exited = exit_of(2, 7);
  exited.last_output = {"first", "last", "[W1128 12:00:00.1 socket.cpp:1] a peer has gone"};
  board.ended(exited);
  board.lost({0, 3, 1});
  std::vector<std::string> lines;
  for (const RankFigures& rank : board.ranks()) lines.push_back(rank.usage.last_line.raw());
  EXPECT_EQ(lines,
            (std::vector<std::string>{"step 3", "ValueError: boom of <secret>", "last", "step 3"}));
}

TEST(Board, AFailedRanksLastLinesAreThoseOfItsEnd) {
  Board board;
  board.begin(1, 2);
  board.started({0, 0, 2});
  meter::Node usage;
  usage.ranks.resize(2);
  for (meter::Rank& rank : usage.ranks) rank.last_lines = {"step 2", "step 3"};
  board.measured({0, 0, 2}, usage, {});
  model::WorkerExit exited = exit_of(1, 3);
  exited.last_output = {"step 2", "step 3", "", "step 4", "boom: disk full"};
  board.ended(exited);
  board.ended(exit_of(0, 0));
  EXPECT_EQ(board.ranks()[1].usage.last_lines,
            (std::vector<Outside>{"step 2", "step 3", "step 4", "boom: disk full"}));
  EXPECT_EQ(board.ranks()[0].usage.last_lines, (std::vector<Outside>{"step 2", "step 3"}));
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
}  // namespace toprun::snapshot
