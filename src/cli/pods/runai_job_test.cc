#include "cli/pods/runai_job.h"

#include <gtest/gtest.h>

#include "node/plan/packed_words.h"

namespace toprun::pods {
namespace {

using engines::kubernetes::Workload;
using Strings = std::vector<std::string>;
using Pairs = std::vector<std::pair<std::string, std::string>>;

TEST(RunaiJob, ReadableWordsStayAsTheyAre) {
  Workload job;
  job.command = {"toprun", "--nproc-per-node=8", "/scratch/train.py", "--lr", "0.1"};
  job.variables = {{"A", "1"}};
  const Workload before = job;
  ASSERT_TRUE(make_plain(job));
  EXPECT_EQ(job.command, before.command);
  EXPECT_EQ(job.variables, before.variables);
}

TEST(RunaiJob, AllOthersTravelInOne) {
  Workload job;
  job.command = {"toprun", "train.py", "$(A) \"b\""};
  job.variables = {{"A", "1"}, {"B", "a, b"}, {"C", ""}};
  ASSERT_TRUE(make_plain(job));
  EXPECT_EQ(job.variables, (Pairs{{"A", "1"}}));
  ASSERT_EQ(job.command.size(), 3u);
  EXPECT_EQ(plan::unpack_words(job.command[2]).value(),
            (Strings{"toprun", "-e", "B=a, b", "-e", "C=", "train.py", "$(A) \"b\""}));
}

TEST(RunaiJob, OneFailureCountsOnce) {
  Workload job;
  count_one_failure(job);
  EXPECT_EQ(job.variables, (Pairs{{"TOPRUN_ONE_CODE", "1"}}));
  Workload restarting;
  restarting.restarts = 3;
  count_one_failure(restarting);
  EXPECT_TRUE(restarting.variables.empty());
  Workload elastic;  // whose operator takes a single 0 for the success of all
  elastic.least_nodes = 2;
  count_one_failure(elastic);
  EXPECT_TRUE(elastic.variables.empty());
}

TEST(RunaiJob, OutputIsKeptWhereItCanBeWritten) {
  Workload job;
  job.name = "train";
  job.command = {"toprun", "train.py"};
  EXPECT_EQ(keep_output(job), "");
  job.claims = {{"data", "/data", true}, {"scratch", "/scratch", false}};
  EXPECT_EQ(keep_output(job), "/scratch/toprun/train.%j");
  EXPECT_EQ(job.command, (Strings{"toprun", "--node-log=/scratch/toprun/train.%j",
                                  "--report=/scratch/toprun/train.%j/report.json", "train.py"}));
}

TEST(RunaiJob, ThePodsAreToldTheNumberOfRanks) {
  Workload job;
  job.command = {"toprun", "--no-config", "train.py", "--nproc-per-node=2"};
  job.workers = 8;
  count_ranks(job);
  EXPECT_EQ(job.command[1], "--nproc-per-node=8");
  Workload reported;
  reported.command = {"toprun", "--nproc-per-node=8", "train.py"};
  reported.workers = 8;
  count_ranks(reported);
  EXPECT_EQ(reported.command.size(), 3u);
}

}  // namespace
}  // namespace toprun::pods
