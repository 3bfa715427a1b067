#include <gtest/gtest.h>

#include "bench/measure/session.h"

namespace toprun::measure {
namespace {

using std::chrono::seconds;

const ProgressLines::Time began{};

TEST(ProgressLines, ComeNowAndThenWithTheTimeLeft) {
  ProgressLines lines(began);
  EXPECT_EQ(lines.at({"8 B", 1, 100}, began + seconds(9)), std::nullopt);
  EXPECT_EQ(lines.at({"1 KiB", 10, 100}, began + seconds(20)), "1 KiB, about 3 min 00 s left");
  EXPECT_EQ(lines.at({"2 KiB", 30, 100}, began + seconds(29)), std::nullopt);
  // 60 in the last 20 s.
  EXPECT_EQ(lines.at({"4 KiB", 70, 100}, began + seconds(40)), "4 KiB, about 10 s left");
  EXPECT_EQ(lines.at({"4 KiB", 99.9, 100}, began + seconds(50)), "4 KiB");
}

TEST(ProgressLines, SayNothingOnceAllIsDone) {
  ProgressLines lines(began);
  EXPECT_EQ(lines.at({"measuring all pairs: round 7 of 7", 7, 7}, began + seconds(20)),
            std::nullopt);
  EXPECT_EQ(lines.at({"more than was expected", 8, 7}, began + seconds(30)), std::nullopt);
}

TEST(ProgressLines, TellNoTimeWithoutAPace) {
  ProgressLines lines(began);
  EXPECT_EQ(lines.at({"4 GiB", 0, 100}, began + seconds(20)), "4 GiB");
}

}  // namespace
}  // namespace toprun::measure
