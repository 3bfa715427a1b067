#include <gtest/gtest.h>

#include "engines/slurm/variables.h"

namespace toprun::engines::slurm {
namespace {

TEST(OwnJob, HasTheNameThatItsUserChose) {
  const auto name = [](std::string chosen) {
    return own_job_name({{"SLURM_JOB_ID", "36"}, {"SLURM_JOB_NAME", std::move(chosen)}});
  };
  EXPECT_EQ(name("bigrun"), "bigrun");
  EXPECT_EQ(name("toprun"), std::nullopt);
  EXPECT_EQ(name("interactive"), std::nullopt);
  EXPECT_EQ(name(""), std::nullopt);
  EXPECT_EQ(own_job_name({{"SLURM_JOB_NAME", "left over"}}), std::nullopt);
}

TEST(OwnJob, HasTheIdThatItsUserKnows) {
  EXPECT_EQ(own_job_id({{"SLURM_JOB_ID", "36"}}), "36");
  const auto id = [](std::string array, std::string task) {
    return own_job_id({{"SLURM_JOB_ID", "30"},
                       {"SLURM_ARRAY_JOB_ID", std::move(array)},
                       {"SLURM_ARRAY_TASK_ID", std::move(task)}});
  };
  EXPECT_EQ(id("29", "0"), "29_0");
  EXPECT_EQ(id("", "0"), "30");
  EXPECT_EQ(id("29", ""), "30");
  EXPECT_EQ(own_job_id({{"SLURM_ARRAY_JOB_ID", "29"}, {"SLURM_ARRAY_TASK_ID", "0"}}), std::nullopt);
}

TEST(OwnJob, HasNodesThatAStepDoesWithout) {
  const Environment job{{"SLURM_JOB_ID", "36"}, {"SLURM_JOB_NODELIST", "n[0-3]"}};
  EXPECT_EQ(other_nodes_of_own_job(job, {"n0", "n2"}), (std::vector<std::string>{"n1", "n3"}));
  EXPECT_TRUE(other_nodes_of_own_job(job, {"n0", "n1", "n2", "n3"}).empty());
  EXPECT_TRUE(other_nodes_of_own_job({{"SLURM_JOB_NODELIST", "n[0-3]"}}, {"n0"}).empty());
  EXPECT_TRUE(
      other_nodes_of_own_job({{"SLURM_JOB_ID", "36"}, {"SLURM_JOB_NODELIST", "n[0-"}}, {"n0"})
          .empty());
}

TEST(OwnJob, HasAnEnd) {
  const auto end = [](std::string time) {
    return job_end_in("", {{"SLURM_JOB_END_TIME", std::move(time)}});
  };
  EXPECT_EQ(end("1795318177"), WallTime(std::chrono::seconds(1'795'318'177)));
  EXPECT_EQ(end("4294967294"), WallTime(std::chrono::seconds(4'294'967'294)));
  for (const char* none : {"", "0", "-1", "4294967296", "soon"}) {
    EXPECT_EQ(end(none), std::nullopt) << none;
  }
  const Environment began{{"SLURM_JOB_END_TIME", "1795318177"}};
  EXPECT_EQ(job_end_in("JobId=7 EndTime=1795319999 Partition=main\n", began),
            WallTime(std::chrono::seconds(1'795'319'999)))
      << "its limit has changed since";
  EXPECT_EQ(job_end_in("JobId=7 EndTime=Unknown Partition=main\n", began), std::nullopt);
  EXPECT_EQ(job_end_in("JobId=7 TimeLimit=UNLIMITED EndTime=1826854178\n", began), std::nullopt);
  EXPECT_EQ(job_end_in("JobId=7 TimeLimit=365-00:00:00 EndTime=1826854178\n", began), std::nullopt);
  EXPECT_EQ(job_end_in("JobId=7 TimeLimit=364-00:00:00 EndTime=1795319999\n", began),
            WallTime(std::chrono::seconds(1'795'319'999)));
  const Environment without_limit{{"SLURM_JOB_START_TIME", "1795318178"},
                                  {"SLURM_JOB_END_TIME", "1826854178"}};
  EXPECT_EQ(job_end_in("", without_limit), std::nullopt);
}

}  // namespace
}  // namespace toprun::engines::slurm
