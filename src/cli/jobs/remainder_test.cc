#include <gtest/gtest.h>

#include "cli/jobs/log_tail.h"

namespace toprun::jobs {
namespace {

using std::chrono::seconds;

constexpr SteadyTime start{};
constexpr SteadyTime end = SteadyTime::max();

TEST(Remainder, IsWhatNoHostHas) {
  struct Case {
    std::vector<std::string> hosts;
    std::vector<std::string> engine;
    std::string left;
  };
  const std::vector<Case> cases = {
      {{"a", "b"}, {"b", "a"}, ""},
      {{"a", "b"}, {"loading", "a", "b", "srun: error"}, "loading\nsrun: error\n"},
      {{}, {"a", "a"}, "a\na\n"},
      {{"a"}, {"a", "a"}, "a\n"},    // once by the batch script, once by a rank
      {{"a", "a", "b"}, {"a"}, ""},  // the engine has not shown all yet
      {{""}, {"", ""}, "\n"},
      // A rank was stopped within a line.
      {{"a", "b"}, {"a", "bsrun: error", "", "c"}, "srun: error\nc\n"},
      {{"b"}, {"bslurmstepd-n0: error: x", "b"}, "slurmstepd-n0: error: x\nb\n"},
      {{}, {"asrun: error"}, "asrun: error\n"},
  };
  for (const Case& each : cases) {
    Remainder remainder;
    for (const std::string& line : each.engine) {
      remainder.add_engine_line(line, line + '\n', start);
    }
    for (const std::string& line : each.hosts) remainder.add_host_line(line);
    EXPECT_EQ(remainder.take(end), each.left);
    EXPECT_EQ(remainder.take(end), "");
  }
}

TEST(Remainder, WaitsForAHostThatIsLate) {
  Remainder remainder;
  remainder.add_engine_line("early", "early\n", start);
  remainder.add_engine_line("late", "late\n", start + seconds(2));
  EXPECT_EQ(remainder.take(start + seconds(1)), "early\n");
  remainder.add_host_line("late");
  EXPECT_EQ(remainder.take(end), "");
}

TEST(Remainder, ForgetsTheOldestHostLines) {
  Remainder remainder(Remainder::Limits{.host_lines = 100});
  for (int i = 0; i < 1000; ++i) remainder.add_host_line(std::to_string(i));
  for (int i = 0; i < 1000; ++i) {
    const std::string line = std::to_string(i);
    remainder.add_engine_line(line, line + '\n', start);
  }
  const std::string left = remainder.take(end);
  EXPECT_TRUE(left.starts_with("0\n1\n2\n"));
  EXPECT_TRUE(left.ends_with("\n899\n") || left.ends_with("\n949\n")) << left;
}

TEST(Remainder, GivesTheOldestLinesEarlyIfTooMuchWaits) {
  Remainder remainder(Remainder::Limits{.waiting_bytes = 10});
  for (const std::string line : {"aaaa", "bbbb", "cccc"}) {
    remainder.add_engine_line(line, line + '\n', start + seconds(2));
  }
  EXPECT_EQ(remainder.take(start), "aaaa\n");
  EXPECT_EQ(remainder.take(start), "");
  EXPECT_EQ(remainder.take(end), "bbbb\ncccc\n");
}

}  // namespace
}  // namespace toprun::jobs
