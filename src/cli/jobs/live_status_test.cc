#include "cli/jobs/live_status.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "base/os/os_testing.h"
#include "base/text/text.h"
#include "machine/meter/usage.h"

namespace toprun::jobs {
namespace {

TEST(LiveStatus, SaysWhatIsNotInTheTableAlready) {
  const std::pair<LiveStatus, const char*> cases[] = {
      {{"running", {}}, "running"},
      {{"running", "step 230 loss 0.0043"}, "step 230 loss 0.0043"},
      {{"running, restart 1 of 3", "step 2"}, "running, restart 1 of 3: step 2"},
      {{"hangs since 06:02:00: rank 2 on n1 sleeps", "step 2"},
       "hangs since 06:02:00: rank 2 on n1 sleeps"},
      {{"waiting, requeued at 06:04:10", {}}, "waiting, requeued at 06:04:10"},
  };
  for (const auto& [glance, text] : cases) EXPECT_EQ(text_of(glance), text);
}

TEST(LiveStatus, TheLastLineIsThatOfARank) {
  const std::pair<std::string, const char*> cases[] = {
      {"", ""},
      {"step 1\nstep 2\n", "step 2"},
      {"step 1\nstep 2", "step 2"},
      {"  1%\r 50%\r 99%", " 99%"},
      {"step 7\ntoprun: rank 3 is slow\n\n", "step 7"},
      {"toprun: nothing yet\n", ""},
      {"begins\ntoprun: no rank has made progress\n  rank 2: sleeps\n      load\n", "begins"},
      {"toprun: restart 1 of 3\nstep 1\n  and 2\n", "  and 2"},
      {"step 9\ntoprun: rank 2 failed\n  next  x\ntoprun: restart 1 of 3\n", ""},
      {"step 9\ntoprun: starting again without it\n", ""},
      {"a\x1b[31mb\x1b[0m\n", "ab"},
  };
  for (const auto& [text, line] : cases) EXPECT_EQ(last_line_of(text).raw(), line) << text;
  const Outside cut = last_line_of(std::string(100'000, 'x'));
  EXPECT_LE(cut.raw().size(), meter::longest_last_line);
  EXPECT_EQ(last_line_of("HF_TOKEN=hf_abcdefghijklmnopqrstuvwxyz012345\n").raw().find("hf_abc"),
            std::string::npos);
}

TEST(LiveStatus, ALineOfAnEarlierAttemptIsNotOfThisOne) {
  const TemporaryFolder folder;
  const auto write = [&](const char* name, const char* text, std::chrono::seconds age) {
    const auto path = folder.path() / name;
    std::ofstream(path) << text;
    std::filesystem::last_write_time(path, std::filesystem::file_time_type::clock::now() - age);
  };
  KnownJob known;
  known.files = JobFiles{{}, folder.path()};
  known.report.emplace();
  model::RunRecord& run = known.report->run;
  const WallTime now = std::chrono::system_clock::now();
  run.running_at = now;
  run.attempts.resize(1);
  run.attempts[0].started = now - std::chrono::seconds(30);
  write("n3.out", "RuntimeError: Connection closed by peer\n", std::chrono::seconds(10));
  EXPECT_EQ(last_line_in(known).raw(), "RuntimeError: Connection closed by peer");
  run.attempts[0].ended = now - std::chrono::seconds(9);
  run.attempts.resize(2);
  run.attempts[1].attempt = 1;
  run.attempts[1].started = now - std::chrono::seconds(8);
  EXPECT_EQ(last_line_in(known).raw(), "");
  write("n0.out", "step 2\ntoprun: restart 1 of 1\n", std::chrono::seconds(7));
  EXPECT_EQ(last_line_in(known).raw(), "");
  write("n2.out", "step 0\n", std::chrono::seconds(5));
  EXPECT_EQ(last_line_in(known).raw(), "step 0");
  run.attempts.back().ended = now;
  EXPECT_EQ(last_line_in(known).raw(), "");
}

TEST(LiveStatus, TheLastLineIsInTheRanksOwnFilesIfTheyAreRedirected) {
  const TemporaryFolder folder;
  const auto write = [&](const std::string& name, const char* text, std::chrono::seconds age) {
    const auto path = folder.path() / name;
    std::filesystem::create_directories(path.parent_path());
    std::ofstream(path) << text;
    std::filesystem::last_write_time(path, std::filesystem::file_time_type::clock::now() - age);
  };
  KnownJob known;
  known.files = JobFiles{{}, folder.path()};
  write("n0.out", "toprun: rank 1 is slow\n", std::chrono::seconds(1));
  write("9_x/attempt_0/0/stdout.log", "step 1\n", std::chrono::seconds(5));
  write("9_x/attempt_0/1/stdout.log", "", std::chrono::seconds(2));
  write("9_x/attempt_0/1/stderr.log", "INFO step 2\n", std::chrono::seconds(3));
  EXPECT_EQ(last_line_in(known).raw(), "INFO step 2");
  write("9_x/attempt_1/0/stdout.log", "step 0\n", std::chrono::seconds(4));
  EXPECT_EQ(last_line_in(known).raw(), "step 0") << "of the last attempt";
  known.report.emplace().run.attempts.resize(1);
  known.report->run.attempts[0].nodes.resize(1);
  known.report->run.attempts[0].nodes[0].logs = (folder.path() / "9_x").string();
  EXPECT_EQ(last_line_in(known).raw(), "INFO step 2") << "of the report's last attempt";
  write("n0.out", "a warning\n", std::chrono::seconds(1));
  EXPECT_EQ(last_line_in(known).raw(), "a warning");
  write("job.sbatch", "toprun --redirects 1 train.py\n", std::chrono::seconds(9));
  EXPECT_EQ(last_line_in(known).raw(), "a warning");
  write("n0.out", "a warning\n", std::chrono::seconds(4));
  EXPECT_EQ(last_line_in(known).raw(), "INFO step 2");
}

TEST(LiveStatus, ToprunsLineAtTheEnd) {
  const std::pair<std::string, const char*> cases[] = {
      {"", ""},
      {"toprun: script gone.py: No such file or directory\n",
       "script gone.py: No such file or directory"},
      {"step 1\ntoprun: all ended with 0\n\n", "all ended with 0"},
      {"toprun: all ended with 0\nslurmstepd: error: x\n", ""},
      {"toprun: the job failed\n  next        see train.py\n", ""},
      {"toprun: ended\nsrun: error: n0: task 0: Exited with exit code 2\n", "ended"},
      {"toprun: ended\nslurmstepd: error: *** STEP 9.0 ON n0 CANCELLED ***\n\n", "ended"},
      {"toprun: ended\nnext\nsrun: error: n0: task 0: Exited with exit code 2\n",
       "srun: error: n0: task 0: Exited with exit code 2"},
      {"step 1\nsrun: error: Task launch for StepId=48.0 failed on node n3: Communication "
       "failure\n",
       "srun: error: Task launch for StepId=48.0 failed on node n3: Communication failure"},
      {"step 1\nsrun: Job step aborted\n", ""},
      {"/var/spool/job00001/slurm_script: line 14: /opt/toprun: No such file or directory\n",
       "the job's script: /opt/toprun: No such file or directory"},
  };
  for (const auto& [text, line] : cases) EXPECT_EQ(own_line_at_end(text).raw(), line) << text;
}

}  // namespace
}  // namespace toprun::jobs
