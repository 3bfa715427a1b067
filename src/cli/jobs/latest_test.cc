#include <gtest/gtest.h>

#include "cli/jobs/known_job.h"

namespace toprun::jobs {
namespace {

using std::chrono_literals::operator""ms;
using std::chrono_literals::operator""s;

std::vector<Submission> undated_jobs(const std::vector<std::string>& ids) {
  std::vector<Submission> jobs;
  for (const std::string& id : ids) jobs.push_back({id, std::nullopt});
  return jobs;
}

TEST(LatestJob, HasTheHighestNumberWhereNothingTellsTheTime) {
  EXPECT_EQ(latest_of({}), "");
  EXPECT_EQ(latest_of(undated_jobs({"9", "10", "8"})), "10");
  EXPECT_EQ(latest_of(undated_jobs({"12_3", "12_[4-9]", "7"})), "12");
  EXPECT_EQ(latest_of(undated_jobs({"12_3", "13"})), "13");
}

TEST(LatestJob, WasSubmittedLast) {
  EXPECT_EQ(latest_of({{"77", WallTime(10s)}, {"9", WallTime(20s)}, {"8", WallTime(15s)}}), "9");
  EXPECT_EQ(latest_of({{"9", WallTime(20s + 900ms)}, {"10", WallTime(20s)}}), "10");
  EXPECT_EQ(latest_of({{"99", WallTime(20s + 183ms)}, {"5", WallTime(20s + 841ms)}}), "5");
  EXPECT_EQ(latest_of({{"77", WallTime(10s)}, {"9", WallTime(20s)}, {"11", std::nullopt}}), "11");
  EXPECT_EQ(latest_of({{"77", WallTime(10s)}, {"9", std::nullopt}}), "77");
}

}  // namespace
}  // namespace toprun::jobs
