#include "engines/slurm/patterns.h"

#include <gtest/gtest.h>

namespace toprun::engines::slurm {
namespace {

TEST(SlurmPatterns, ExpandsWhatSbatchDoes) {
  Job job;
  job.number = "17";
  job.name = "train";
  job.user = "bob";
  job.batch_host = "n3.cluster";
  job.restarts = 2;
  Job task = job;
  task.array = "12";
  task.task = "34";
  task.batch_host.clear();
  task.node_list = "n[07-09]";
  for (const auto& [pattern, of_job, of_task] : std::vector<std::array<std::string, 3>>{
           {"%x.%j.out", "train.17.out", "train.17.out"},
           {"%A_%a", "17_4294967294", "12_34"},
           {"%b", "4", "4"},
           {"%J", "17", "17"},
           {"%N", "n3", "n07"},
           {"%n%t%r", "002", "002"},
           {"%s", "batch", "batch"},
           {"%u", "bob", "bob"},
           {"%5j", "00017", "00017"},
           {"%05a", "4294967294", "00034"},
           {"%99j", "0000000017", "0000000017"},  // at most ten digits
           {"%5x", "train", "train"},
           {"%%j", "%j", "%j"},
           {"%q%", "%q%", "%q%"},
           {"%5", "%5", "%5"},
           {"\\%j", "%j", "%j"},
           {"plain", "plain", "plain"},
           {"", "", ""},
       }) {
    EXPECT_EQ(expand(pattern, job), of_job) << pattern;
    EXPECT_EQ(expand(pattern, task), of_task) << pattern;
  }
}

TEST(SlurmPatterns, NamesGrowNoLongerThanAPath) {
  Job job;
  job.name = std::string(3'000, 'x');
  EXPECT_EQ(expand("%x%x%x", job).size(), max_file_name_bytes);
}

}  // namespace
}  // namespace toprun::engines::slurm
