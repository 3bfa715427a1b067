#include "decide/hang/hang_verdict.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

namespace toprun::hang {
namespace {

std::string node_of(int rank) {
  return fmt::format("n{}", rank / 8);
}

Standing in(const char* collective, int line) {
  Standing standing;
  standing.doing = Doing::communicates;
  standing.frames = {{collective, "/v/site-packages/torch/distributed/distributed_c10d.py", 2810},
                     {"step", "/job/train.py", line}};
  return standing;
}

Standing sleeps(int line) {
  Standing standing;
  standing.frames = {{"load", "/job/data.py", line}, {"<module>", "/job/train.py", 9}};
  return standing;
}

std::vector<int> ranks(int first, int count) {
  std::vector<int> all(static_cast<std::size_t>(count));
  std::iota(all.begin(), all.end(), first);
  return all;
}

TEST(Verdict, ARankThatDoesNotCome) {
  const Verdict verdict =
      judge({{in("all_reduce", 88), ranks(0, 17)}, {sleeps(41), {17}}}, {}, node_of);
  EXPECT_EQ(verdict.suspects, (std::vector{17}));
  EXPECT_EQ(verdict.what, "rank 17 on n2 sleeps at data.py:41 in load, and 17 ranks wait for it");
  EXPECT_EQ(suspected_nodes(verdict, node_of), (std::vector<std::string>{"n2"}));
  EXPECT_EQ(lines_of(verdict, node_of),
            (std::vector<std::string>{"rank 17 on n2: sleeps at data.py:41 in load",
                                      "    load, /job/data.py:41", "    <module>, /job/train.py:9",
                                      "ranks 0-16: wait in all_reduce, train.py:88 in step",
                                      "suspected node: n2"}));
}

TEST(Verdict, ARankWithoutFramesAndItsChild) {
  Standing shell;
  shell.children = {Child{"sleep", Doing::waits, {}}};
  const Verdict verdict = judge({{in("all_reduce", 88), ranks(0, 3)}, {shell, {3}}}, {}, node_of);
  const std::string does(doing_text(shell.doing));
  EXPECT_TRUE(verdict.what.starts_with("rank 3 on n0 " + does + "; its child process 'sleep' "))
      << verdict.what;
}

TEST(Verdict, SeveralRanksThatDoNotCome) {
  Standing stopped = in("all_reduce", 88);
  stopped.doing = Doing::stopped;
  const Verdict verdict = judge(
      {{in("all_reduce", 88), {0, 1, 2, 3}}, {stopped, {9}}, {sleeps(41), {17}}}, {}, node_of);
  EXPECT_EQ(verdict.suspects, (std::vector{9, 17}));
  EXPECT_EQ(verdict.what, "rank 9 on n1, rank 17 on n2 do not come, and 4 ranks wait for them");
}

TEST(Verdict, AnotherOrderOfCollectives) {
  const Verdict verdict =
      judge({{in("all_reduce", 88), {0, 1, 2}}, {in("broadcast", 90), {3}}}, {}, node_of);
  EXPECT_EQ(verdict.suspects, (std::vector{3}));
  EXPECT_EQ(verdict.what,
            "rank 3 on n0 waits in broadcast, train.py:90 in step, and 3 ranks in all_reduce, "
            "train.py:88 in step");
}

// A lock is one of the program, whatever node it is on.
TEST(Verdict, ALockSuspectsNoNode) {
  Standing locked = sleeps(41);
  locked.doing = Doing::locked;
  const Verdict verdict =
      judge({{in("all_reduce", 88), ranks(0, 17)}, {locked, {17}}}, {}, node_of);
  for (const std::string& line : lines_of(verdict, node_of)) {
    EXPECT_FALSE(line.starts_with("suspected node")) << line;
  }
  // What its child hangs in may be the node's.
  locked.children = {Child{"python3", Doing::uninterruptible, {}}};
  const Verdict other = judge({{in("all_reduce", 88), ranks(0, 17)}, {locked, {17}}}, {}, node_of);
  EXPECT_EQ(lines_of(other, node_of).back(), "suspected node: n2");
}

TEST(Verdict, NoMajority) {
  const Verdict two = judge({{in("all_reduce", 88), {0}}, {in("broadcast", 90), {1}}}, {}, node_of);
  EXPECT_TRUE(two.suspects.empty());
  EXPECT_EQ(two.what,
            "2 ranks wait for each other in 2 different calls: probably these ranks do not make "
            "the calls in the same order");
  const std::vector<std::string> lines = lines_of(two, node_of);
  ASSERT_EQ(lines.size(), 3u);
  EXPECT_EQ(lines[0], "rank 0 on n0: waits in all_reduce, train.py:88 in step");
  EXPECT_EQ(lines[1], "rank 1 on n0: waits in broadcast, train.py:90 in step");
  EXPECT_TRUE(lines[2].starts_with("next: compare the calls of these ranks")) << lines[2];
  const Verdict one = judge({{in("all_reduce", 88), {0, 1}}}, {}, node_of);
  EXPECT_EQ(lines_of(one, node_of).size(), 1u);
  EXPECT_TRUE(one.suspects.empty());
  EXPECT_EQ(one.what,
            "all 2 ranks wait in all_reduce, train.py:88 in step: the network is stuck, or the "
            "ranks pass different "
            "sizes or types");
}

TEST(Verdict, NodesThatDoNotAnswer) {
  const Verdict verdict = judge({{in("all_reduce", 88), ranks(0, 8)}}, {8, 9}, node_of);
  EXPECT_EQ(verdict.suspects, (std::vector{8, 9}));
  EXPECT_EQ(verdict.what, "n1 does not report where its ranks are (8-9), and 8 ranks wait");
  EXPECT_EQ(lines_of(verdict, node_of, Shown::all_stacks).back(),
            "rank 8 on n1, rank 9 on n1: no answer in time from there");
}

TEST(Verdict, TheUsersOwnLineIsShownBelowManyFramesOfALibrary) {
  Standing loads;
  for (int i = 0; i < 8; ++i) {
    loads.frames.push_back(
        {fmt::format("call{}", i), "/v/site-packages/torch/utils/data/dataloader.py", 100 + i});
  }
  loads.frames.push_back({"train", "/job/train.py", 31});
  loads.frames.push_back({"<module>", "/job/train.py", 40});
  const Verdict verdict = judge({{in("all_reduce", 88), ranks(0, 3)}, {loads, {3}}}, {}, node_of);
  const std::vector<std::string> lines = lines_of(verdict, node_of);
  ASSERT_GE(lines.size(), 7u);
  EXPECT_EQ(lines[4], "    call3, /v/site-packages/torch/utils/data/dataloader.py:103");
  EXPECT_EQ(lines[5], "    …");
  EXPECT_EQ(lines[6], "    train, /job/train.py:31");
}

// 100,000 ranks that all stand elsewhere.
TEST(Verdict, IsShortAtAnySize) {
  std::vector<Group> groups = {{in("all_reduce", 88), ranks(0, 100)}};
  for (int rank = 100; rank < 100'000; ++rank) groups.push_back({sleeps(rank), {rank}});
  const Verdict verdict = judge(std::move(groups), {}, node_of);
  EXPECT_EQ(verdict.suspects.size(), 99'900u);
  const std::vector<std::string> lines = lines_of(verdict, node_of);
  EXPECT_LE(lines.size() + 2, most_lines);
  EXPECT_LT(std::ranges::max(lines, {}, &std::string::size).size(), 400u);
}

}  // namespace
}  // namespace toprun::hang
