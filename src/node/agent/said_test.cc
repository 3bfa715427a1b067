#include <gtest/gtest.h>

#include "machine/meter/usage.h"
#include "node/agent/ranks_meter.h"

namespace toprun::agent {
namespace {

using namespace std::chrono_literals;
using All = std::vector<Said>;

const SteadyTime look_time{100s};
const std::vector<worker::Workers::LastOutput> outputs = {
    {look_time - 3s, "loading\nstep 1\n"}, {std::nullopt, ""}, {look_time - 1s, "10%\r20%\r"}};

TEST(Said, ByEachRank) {
  EXPECT_EQ(said_by(outputs, most_ranks_with_lines, look_time),
            All({{3s, "step 1"}, {std::nullopt, ""}, {1s, "20%"}}));
  EXPECT_EQ(said_by({}, 1, look_time), All());
}

TEST(Said, SeveralLinesEachInASmallJob) {
  EXPECT_EQ(said_by(outputs, most_ranks_with_several_lines, look_time),
            All({{3s, "step 1", {"loading", "step 1"}}, {std::nullopt, ""}, {1s, "20%", {"20%"}}}));
  const auto said = said_by(
      {{look_time, "0\n1\n2\n3\n4\ntoken=hf_abcdefghijklmnopqrstuvwxyz0123\n"}}, 1, look_time);
  ASSERT_EQ(said[0].last_lines.size(), meter::most_last_lines);
  EXPECT_EQ(said[0].last_lines.front(), "1");
  EXPECT_FALSE(said[0].last_lines.back().contains("hf_abc"));
}

TEST(Said, ByTheNewestRankOfANodeIfThereAreMany) {
  EXPECT_EQ(said_by(outputs, most_ranks_with_lines + 1, look_time),
            All({{3s, ""}, {std::nullopt, ""}, {1s, "20%"}}));
  EXPECT_EQ(said_by({{std::nullopt, ""}}, most_ranks_with_lines + 1, look_time), All({Said()}));
}

}  // namespace
}  // namespace toprun::agent
