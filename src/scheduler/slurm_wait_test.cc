#include "scheduler/slurm_wait.h"

#include <gtest/gtest.h>

namespace toprun::scheduler {
namespace {

using Codes = std::map<std::string, int, std::less<>>;

TEST(SlurmWait, ReadsHowJobsStand) {
  struct Case {
    std::string_view record;
    bool ended;
    Codes codes;
  };
  const std::vector<Case> cases = {
      {"JobId=5 JobName=a JobState=RUNNING Reason=None ExitCode=0:0", false, {}},
      {"JobId=5 JobState=PENDING ExitCode=0:0", false, {}},
      {"JobId=5 JobState=COMPLETING ExitCode=3:0", false, {}},
      {"JobId=5 JobState=COMPLETED ExitCode=0:0", true, {{"5", 0}}},
      {"JobId=5 JobState=FAILED ExitCode=7:0", true, {{"5", 7}}},
      {"JobId=5 JobState=CANCELLED ExitCode=0:15", true, {{"5", 1}}},
      {"JobId=5 JobState=TIMEOUT ExitCode=0:0", true, {{"5", 1}}},
      {"JobId=7 ArrayJobId=5 ArrayTaskId=1 JobState=FAILED ExitCode=2:0\n"
       "JobId=5 ArrayJobId=5 ArrayTaskId=2 JobState=RUNNING ExitCode=0:0",
       false,
       {{"7", 2}}},
      {"", true, {}},
      {"scontrol: a warning\n", true, {}},
  };
  for (const auto& [record, ended, codes] : cases) {
    const JobEnds ends = job_ends_in(record);
    EXPECT_EQ(ends.all_ended, ended) << record;
    EXPECT_EQ(ends.codes, codes) << record;
  }
}

TEST(SlurmWait, ReadsTheAccountsToo) {
  const JobEnds ends =
      accounted_ends_in("5|COMPLETED|0:0\n6|CANCELLED by 1000|0:0\n7|FAILED|9:0\n");
  EXPECT_TRUE(ends.all_ended);
  EXPECT_EQ(ends.codes, (Codes{{"5", 0}, {"6", 1}, {"7", 9}}));
}

}  // namespace
}  // namespace toprun::scheduler
