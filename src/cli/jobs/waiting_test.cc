#include "cli/jobs/waiting.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>

#include "base/os/os_testing.h"
#include "engines/slurm/slurm_jobs.h"
#include "engines/slurm/slurm_queue.h"

namespace toprun::jobs {
namespace {

constexpr std::int64_t now_s = 1'795'318'200;  // 2026-11-22 03:30:00, in UTC

// Why the job of this record of scontrol's waits.
std::vector<std::string> lines_of(const std::string& record, const std::string& other = {}) {
  const TemporaryFolder programs;
  for (const char* name : {"squeue", "scontrol"}) {
    std::ofstream(programs.path() / name) << "#!/bin/sh\n";
    std::filesystem::permissions(programs.path() / name, std::filesystem::perms::owner_all);
  }
  const auto queue = engines::slurm_queue({{"PATH", programs.path().string()}});
  if (!queue || *queue == nullptr) return {"no queue"};
  const auto jobs = engines::slurm::parse_show_job("JobId=17 JobState=PENDING " + record + "\n");
  const WallTime now{std::chrono::seconds(now_s)};
  const auto all = engines::slurm::parse_show_job(other + "\n");
  return lines_of(waiting(**queue, jobs.at(0), {}, all, now), jobs.at(0), now);
}

std::string start_of(const std::string& record, const std::string& other = {}) {
  return lines_of(record, other).back();
}

TEST(WaitingJobs, AStartThatWasAskedForIsNoExpectation) {
  ::setenv("TZ", "UTC", 1);
  ::tzset();
  struct Case {
    const char* record;
    const char* start;
  };
  for (const Case& one : std::initializer_list<Case>{
           {"Reason=BeginTime StartTime=1795321800 EligibleTime=1795321800",
            "not before 2026-11-22 04:30:00, in 1 h 00 min (--begin)"},
           {"Reason=BeginTime Restarts=1 StartTime=1795318320 EligibleTime=1795318320",
            "not before 2026-11-22 03:32:00, in 2 min 00 s"},
           {"Reason=BeginTime StartTime=Unknown EligibleTime=1795321800",
            "not before 2026-11-22 04:30:00, in 1 h 00 min (--begin)"},
           {"Reason=BeginTime StartTime=1795325400 EligibleTime=1795321800",
            "expected to start at 2026-11-22 05:30:00, in 2 h 00 min; earlier if other jobs end "
            "early, "
            "not before 2026-11-22 04:30:00 (--begin)"},
           {"Reason=Resources StartTime=1795321800 EligibleTime=1795318000",
            "expected to start at 2026-11-22 04:30:00, in 1 h 00 min; earlier if other jobs end "
            "early"},
           {"Reason=PartitionTimeLimit StartTime=Unknown EligibleTime=Unknown",
            "it cannot start as it is: submit it again with other options, and end this job with "
            "toprun cancel 17"},
           {"Reason=Dependency StartTime=Unknown EligibleTime=Unknown", "no start is planned yet"},
           {"Reason=None StartTime=Unknown EligibleTime=Unknown",
            "no start is planned yet, and the engine has given no reason yet"},
       }) {
    EXPECT_EQ(start_of(one.record), one.start) << one.record;
  }
}

TEST(WaitingJobs, BehindAJobWithoutATimeLimitTheStartIsUnknown) {
  ::setenv("TZ", "UTC", 1);
  ::tzset();
  const std::string in_a_year = "Partition=main Reason=Resources StartTime=1826854200";
  const std::string holder = "JobId=48 JobState=RUNNING Partition=main NodeList=n[0-3] TimeLimit=";
  EXPECT_EQ(start_of(in_a_year, holder + "365-00:00:00"),
            "start unknown: job 48 on n[0-3] has no time limit");
  EXPECT_EQ(start_of(in_a_year, holder + "UNLIMITED\n\nJobId=49 JobState=RUNNING Partition=main "
                                         "NodeList=n4 TimeLimit=UNLIMITED"),
            "start unknown: job 48 on n[0-3] and job 49 on n4 have no time limit");
  for (const std::string& other : {holder + "364-00:00:00", std::string()}) {
    EXPECT_TRUE(start_of(in_a_year, other).starts_with("expected to start at 2027-11-22")) << other;
  }
  EXPECT_TRUE(
      start_of("Partition=main Reason=Resources StartTime=1795321800", holder + "365-00:00:00")
          .starts_with("expected to start at 2026-11-22"));
}

TEST(WaitingJobs, OnlyJobsThatCouldStartAreAhead) {
  std::string others;
  for (const char* reason : {"Resources", "Priority", "BeginTime", "Dependency",
                             "DependencyNeverSatisfied", "JobHeldUser", "JobHeldAdmin",
                             "QOSMaxJobsPerUserLimit", "AssocGrpNodeLimit", "QOSGrpCpuLimit"}) {
    others += fmt::format("JobId={} JobState=PENDING Partition=main Priority=9 Reason={}\n",
                          others.size() + 18, reason);
  }
  const std::vector<std::string> lines =
      lines_of("Partition=main Priority=5 Reason=Priority", others);
  EXPECT_EQ(lines.at(1), "4 waiting jobs of its partition have a higher priority");
  EXPECT_EQ(lines_of("Partition=main Priority=5 Reason=Priority",
                     "JobId=18 JobState=PENDING Partition=main Priority=9 Reason=JobHeldUser\n")
                .at(1),
            "no waiting job of its partition that could start has a higher priority");
}

}  // namespace
}  // namespace toprun::jobs
