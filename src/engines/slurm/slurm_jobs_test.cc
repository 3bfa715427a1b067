#include "engines/slurm/slurm_jobs.h"

#include <gtest/gtest.h>

#include "base/text/text.h"

namespace toprun::engines::slurm {
namespace {

// "|" stands for the end of a field, "~" for that of a record.
std::string answer(std::string text) {
  for (char& c : text) c = c == '|' ? '\x1f' : c == '~' ? '\x1e' : c;
  return text;
}

std::string seconds_of(const std::optional<std::chrono::seconds>& time) {
  return time ? fmt::to_string(time->count()) : "-";
}

// The fields that matter to a table, with blanks between.
std::string text_of(const std::vector<Job>& jobs) {
  std::string text;
  for (const Job& job : jobs) {
    text += fmt::format("{} {} [{}] {} {} {} {}/{} {} <{}> ({})\n", job.id, job.number, job.name,
                        job.user, job.state_code, job.partition, seconds_of(job.used),
                        seconds_of(job.limit), job.nodes, job.node_list, job.reason);
  }
  return text;
}

TEST(SlurmJobs, ReadsSqueue) {
  // As 22.05 printed them.
  const auto jobs = parse_squeue(answer(
      "2|2|main|root|0|PENDING|0:00|UNLIMITED|2||Dependency|1795317970|N/A|N/A|"
      "afterok:1(unfulfilled)|42|/tmp/w|wrap~\n"
      "3_[3-10%3]|3|main|root|0|PENDING|0:00|10:00|1||Resources|1795317970|1795317999|N/A|(null)|"
      "7|/tmp/w|odd\nna me~\n"
      "squeue: warning: something\n"
      "3_1|5|main|bob|1000|RUNNING|1-00:00:02|UNLIMITED|1|n[1-2]|None|1|2|3|(null)|7|/w|~\n"
      "too|few|fields~\n"
      "x|5|main|bob|1000|RUNNING|0:02|UNLIMITED|1|n1|None|1|2|3|(null)|7|/w|no number~\n"
      "16_4294967294|16|main|bob|1000|CANCELLED|0:00|1:00|1||None|1|2|3|(null)|7|/w|x~\n"));
  EXPECT_EQ(text_of(jobs),
            "2 2 [wrap] root PD main 0/- 2 <> (Dependency)\n"
            "3_[3-10%3] 3 [odd\nna me] root PD main 0/600 1 <> (Resources)\n"
            "3_1 5 [] bob R main 86402/- 1 <n[1-2]> ()\n"
            "16 16 [x] bob CA main -/60 1 <> ()\n");
  ASSERT_EQ(jobs.size(), 4u);
  EXPECT_EQ(jobs[3].array + "/" + jobs[3].task, "16/");
  EXPECT_EQ(jobs[0].dependency, "afterok:1(unfulfilled)");
  EXPECT_EQ(jobs[0].priority, 42);
  EXPECT_EQ(jobs[0].started, std::nullopt);
  EXPECT_EQ(jobs[1].array + "/" + jobs[1].task, "3/3-10%3");
  EXPECT_EQ(jobs[1].started, WallTime(std::chrono::seconds(1'795'317'999)));
  EXPECT_EQ(jobs[2].uid, 1000u);
  EXPECT_EQ(jobs[2].folder, "/w");
}

TEST(SlurmJobs, AMissingTaskIsToldFromAMissingJob) {
  Job remainder;
  remainder.array = "1";
  EXPECT_EQ(missing_part(*parse_job_id("1_7"), {remainder}),
            "Slurm has forgotten the tasks of job 1");
  EXPECT_TRUE(says_not_found("Job 1_7 not found\n"));
  EXPECT_FALSE(says_not_found(""));
  EXPECT_FALSE(says_not_found("JobId=1 JobName=Job 1 not found\n"));
  EXPECT_FALSE(says_not_found("Job 1_7 not found\nJobId=1"));

  const auto array = [](const std::vector<std::string>& tasks) {
    std::vector<Job> records;
    for (const std::string& task : tasks) {
      records.emplace_back();
      records.back().task = task;
    }
    return records;
  };
  struct Asked {
    std::string_view id;
    std::vector<std::string> tasks;
    std::string_view why;
  };
  const Asked rows[] = {
      {"1_7", {"2", "1", "0"}, "Slurm knows tasks 0-2 of job 1, but the job has no task 7"},
      {"1_7", {"3"}, "Slurm knows task 3 of job 1, but the job has no task 7"},
      {"1_7", {"0-5%2"}, "Slurm knows tasks 0-5 of job 1, but the job has no task 7"},
      {"1_7",
       {"4-6,9%1", "0", "2", "3"},
       "Slurm knows tasks 0,2-3,4-6,9 of job 1, but the job has no task 7"},
      {"1_7", {""}, "job 1 is not an array, and has no tasks"},
      {"1+5", {"", ""}, "Slurm knows job 1, but this job has no component 5"},
      {"1_7", {}, ""},
      {"1", {"0"}, ""},
  };
  for (const Asked& row : rows) {
    EXPECT_EQ(missing_part(*parse_job_id(row.id), array(row.tasks)), row.why) << row.id;
  }
}

TEST(SlurmJobs, TheNumberOfATaskIsNoArray) {
  Job task;
  task.id = "7_1";
  task.number = "9";
  task.array = "7";
  task.task = "1";
  EXPECT_EQ(missing_part(*parse_job_id("9_4"), {task}),
            "9 is Slurm's number of task 1 of array 7: write 7_1");
  EXPECT_EQ(missing_part(*parse_job_id("9"), {task}), "");
}

TEST(SlurmJobs, AsksForAsManyFieldsAsItReads) {
  EXPECT_EQ(squeue_format(), answer("%i|%A|%P|%u|%U|%T|%M|%l|%D|%N|%r|%V|%S|%e|%E|%Q|%Z|%j~"));
}

TEST(SlurmJobs, RequeuesAndStartsThatWereAskedForAreInASecondAnswer) {
  std::vector<Job> jobs(3);
  for (Job& job : jobs) job.state = JobState::pending;
  jobs[1].state = JobState::running;
  jobs[0].id = "1";
  jobs[1].id = "12_[4-9%2]";
  jobs[2].id = "13_2";
  add_delays(
      "1                     2           1795317970     \n12_[4-9%2]  0 1795317970\n13_2 -7 N/A\n"
      "99 3 1\n13_2 x y z\n",
      jobs);
  EXPECT_EQ(jobs[0].restarts, 2);
  EXPECT_EQ(jobs[1].restarts, 0);
  EXPECT_EQ(jobs[2].restarts, 0);
  EXPECT_EQ(jobs[0].not_before, WallTime(std::chrono::seconds(1'795'317'970)));
  EXPECT_EQ(jobs[1].not_before, std::nullopt);
  EXPECT_EQ(jobs[2].not_before, std::nullopt);
}

TEST(SlurmJobs, ReadsShowJob) {
  const auto jobs = parse_show_job(
      "JobId=15 ArrayJobId=15 ArrayTaskId=4 JobName=a b UserId=root(0) GroupId=root(0) "
      "Priority=42 JobState=FAILED Reason=NonZeroExitCode Dependency=(null) Requeue=1 Restarts=2 "
      "ExitCode=3:0 RunTime=00:00:01 TimeLimit=365-00:00:00 SubmitTime=1795318177 "
      "StartTime=1795318178 EndTime=1826854178 Partition=main NodeList=n[0,2] BatchHost=n0 "
      "NumNodes=2 Command=(null) WorkDir=/tmp/my folder StdErr=/e StdIn=/dev/null "
      "StdOut=/tmp/my folder/%x.out Power= \n"
      "JobId=3 ArrayJobId=3 ArrayTaskId=3-10%3 JobName=w UserId=alice(1000) JobState=PENDING "
      "Reason=Resources ExitCode=0:0 NodeList= NumNodes=1-1 StartTime=Unknown\n");
  EXPECT_EQ(text_of(jobs),
            "15_4 15 [a b] root F main 1/- 2 <n[0,2]> (NonZeroExitCode)\n"
            "3_[3-10%3] 3 [w] alice PD  -/- 1 <> (Resources)\n");
  ASSERT_EQ(jobs.size(), 2u);
  EXPECT_EQ(jobs[0].exit_code, 3);
  EXPECT_EQ(jobs[0].restarts, 2);
  EXPECT_EQ(jobs[0].folder, "/tmp/my folder");
  EXPECT_EQ(jobs[0].out, "/tmp/my folder/%x.out");
  EXPECT_EQ(jobs[0].err, "/e");
  EXPECT_EQ(jobs[0].batch_host, "n0");
  EXPECT_EQ(jobs[1].exit_code, std::nullopt);  // it has not ended
  EXPECT_EQ(jobs[1].uid, 1000u);
}

TEST(SlurmJobs, ARecordWithoutTasksIsNoJobBesideTheTasksOfItsArray) {
  // As 22.05 prints them after `scancel '1_[2-3]'`.
  constexpr std::string_view remainder =
      "JobId=1 ArrayJobId=1 ArrayTaskId=4294967294 ArrayTaskThrottle=2 JobName=w UserId=root(0) "
      "JobState=CANCELLED Reason=JobArrayTaskLimit Partition=main NodeList= NumNodes=1\n";
  constexpr std::string_view task =
      "JobId=3 ArrayJobId=1 ArrayTaskId=1 ArrayTaskThrottle=2 JobName=w UserId=root(0) "
      "JobState=RUNNING Reason=None Partition=main NodeList=n0 NumNodes=1\n";
  constexpr std::string_view other = "JobId=4 JobName=w UserId=root(0) JobState=RUNNING\n";
  const auto ids = [](const std::vector<Job>& jobs) {
    std::string text;
    for (const Job& job : jobs) text += job.id + " ";
    return text;
  };
  EXPECT_EQ(ids(parse_show_job(fmt::format("{}{}{}", remainder, other, task))), "4 1_1 ");
  EXPECT_EQ(ids(parse_show_job(fmt::format("{}{}", remainder, other))), "1 4 ");
}

TEST(SlurmJobs, TasksThatHaveEndedHaveNoLimit) {
  const auto id = [](std::string_view tasks, std::string_view state) {
    return parse_show_job(
               fmt::format("JobId=16 ArrayJobId=16 ArrayTaskId={} JobState={}\n", tasks, state))
        .at(0)
        .id;
  };
  EXPECT_EQ(id("2%2", "CANCELLED"), "16_2");
  EXPECT_EQ(id("2,4-5%2", "CANCELLED"), "16_[2,4-5]");
  EXPECT_EQ(id("2%2", "PENDING"), "16_[2%2]");
}

TEST(SlurmJobs, WhatAJobEndedForGoesBeforeItsCode) {
  const std::pair<const char*, int> cases[] = {
      {"JobState=COMPLETED Reason=None ExitCode=0:0", 0},
      {"JobState=FAILED Reason=NonZeroExitCode ExitCode=3:0", 3},
      {"JobState=TIMEOUT Reason=TimeLimit ExitCode=0:15", 124},
      {"JobState=TIMEOUT Reason=TimeLimit ExitCode=7:0", 124},
      {"JobState=PREEMPTED Reason=None ExitCode=0:15", 75},
      {"JobState=CANCELLED Reason=DependencyNeverSatisfied ExitCode=0:0", 69},
      {"JobState=CANCELLED Reason=None ExitCode=0:15", 143},
      {"JobState=FAILED Reason=BadConstraints NodeList=(null) ExitCode=0:1", 69},
      {"JobState=FAILED Reason=BadConstraints NodeList=n0 ExitCode=3:0", 3},
  };
  for (const auto& [record, code] : cases) {
    const auto jobs = parse_show_job(fmt::format("JobId=1 {}\n", record));
    ASSERT_EQ(jobs.size(), 1u);
    EXPECT_EQ(exit_code_of(jobs[0]), code) << record;
  }
  const auto parts = parse_show_job(
      "JobId=2 HetJobId=2 HetJobOffset=0 JobState=RUNNING\n"
      "JobId=3 HetJobId=2 HetJobOffset=1 JobState=RUNNING\n");
  ASSERT_EQ(parts.size(), 2u);
  EXPECT_EQ(parts[1].id, "2+1");  // as squeue shows it
  EXPECT_EQ(parts[1].number, "3");
  EXPECT_EQ(parts[1].het_leader, "2");
  const auto waits = parse_show_job("JobId=1 JobState=PENDING Reason=DependencyNeverSatisfied\n");
  EXPECT_EQ(exit_code_of(waits.at(0)), std::nullopt);
}

TEST(SlurmJobs, ReadsSacct) {
  const auto jobs = parse_sacct(
      answer("7|7|main|bob|1000|CANCELLED by 1000|0:15|00:00:09|UNLIMITED|2|n[0-1]|None|"
             "1795318177|1795318178|1795318187|/w|train~1\n"
             "sacct: warning\n"
             "8_2|9|main|bob|1000|OUT_OF_MEMORY|0:125|00:00:09|01:00:00|1|None assigned|None|"
             "1795318177|Unknown|Unknown|/w|x\n"));
  EXPECT_EQ(text_of(jobs), answer("7 7 [train~1] bob CA main 9/- 2 <n[0-1]> ()\n") +
                               "8_2 9 [x] bob OOM main -/3600 1 <> ()\n");
  EXPECT_EQ(jobs[0].signal, 15);
  EXPECT_EQ(jobs[1].started, std::nullopt);
  EXPECT_EQ(
      join(sacct_options({"-j", "7"}), " "),
      answer("-n -P -X --delimiter=| -o JobID,JobIDRaw,Partition,User,UID,State,ExitCode,"
             "Elapsed,Timelimit,NNodes,NodeList,Reason,Submit,Start,End,WorkDir,JobName -j 7"));
}

TEST(SlurmJobs, ReadsItsConfiguration) {
  const std::string text = "Configuration data\nMinJobAge               = 10 sec\nX=y\n";
  EXPECT_EQ(config_value(text, "MinJobAge"), "10 sec");
  EXPECT_EQ(config_value(text, "X"), "y");
  EXPECT_EQ(config_value(text, "MinJob"), "");
}

}  // namespace
}  // namespace toprun::engines::slurm
