#include "cli/jobs/job_summary.h"

#include <gtest/gtest.h>

#include "base/os/os_testing.h"

namespace toprun::jobs {
namespace {

using engines::Job;
using engines::JobState;
using model::CauseKind;

// "06:04:10" of a day, in UTC.
WallTime at(std::string_view clock) {
  return time_in(fmt::format("2026-11-28T{}Z", clock)).value();
}

Job job_of(JobState state, int restarts = 0) {
  Job job;
  job.id = "17";
  job.name = "train";
  job.state = state;
  job.started = at("06:00:00");
  job.restarts = restarts;
  if (has_ended(state)) job.ended = at("06:04:12");
  return job;
}

JobReport report_of(std::optional<int> code, std::optional<CauseKind> kind = {},
                    std::string cause = {}, std::optional<int> rank_code = {}) {
  JobReport report;
  report.run.started = at("06:00:01");
  report.run.ended = at("06:04:11");
  if (code) {
    report.run.exit_code = *code;
  } else {
    report.run.running_at = report.run.ended;
  }
  model::AttemptRecord attempt;
  attempt.phases.spawn = std::chrono::milliseconds(7);
  if (kind) {
    attempt.cause.emplace();
    attempt.cause->kind = *kind;
    attempt.cause->exit_code = rank_code;
    attempt.cause->what = std::move(cause);
  }
  report.run.attempts.push_back(std::move(attempt));
  return report;
}

JobReport hung(JobReport report) {
  model::Hang& hang = report.run.attempts.back().hang.emplace();
  hang.noticed = at("06:02:30");
  hang.after = std::chrono::seconds(30);
  hang.verdict.what = "rank 2 on n1 sleeps";
  return report;
}

KnownJob known(std::optional<Job> job, std::string words, std::optional<JobReport> report,
               std::string words_beside_code = {}) {
  KnownJob out;
  out.id = "17";
  out.job = std::move(job);
  out.engine_words = std::move(words);
  out.engine_words_beside_code = std::move(words_beside_code);
  out.report = std::move(report);
  return out;
}

KnownJob cancelled(KnownJob job, std::string_view clock = "06:04:10") {
  job.story.cancels = {{"alice", at(clock)}};
  return job;
}

JobSummary summary_now(const KnownJob& job) {
  return summary_of(job, at("06:30:00"));
}

constexpr const char* theirs = "cancelled by a user or an administrator";
constexpr const char* interrupted = "interrupted: ended by SIGTERM";

class TheJobTold : public testing::Test {
 protected:
  void SetUp() override {
    ::setenv("TZ", "UTC", 1);
    ::tzset();
  }
};

TEST_F(TheJobTold, AnEndReadsTheSameBeforeAndAfterItsEngineForgets) {
  struct Case {
    JobState state;
    const char* engine_words;
    JobReport report;
    const char* cancelled_at;  // by toprun cancel; null: never
    const char* words;
  };
  const JobReport by_signal = report_of(143, CauseKind::interrupted, interrupted);
  const std::vector<Case> cases = {
      {JobState::completed, "ended with exit code 0", report_of(0), nullptr,
       "ended with exit code 0"},
      {JobState::failed, "failed, exit code 3", report_of(3, CauseKind::exit, "rank 0 on n0: x"),
       nullptr, "failed, exit code 3: rank 0 on n0: x"},
      {JobState::failed, "ended by Slurm at its time limit",
       hung(report_of(124, CauseKind::time_limit, "the time limit was reached")), nullptr,
       "ended by Slurm at its time limit, it had hung since 06:02:00: rank 2 on n1 sleeps"},
      {JobState::failed, "ended by Slurm at its time limit",
       report_of(124, CauseKind::time_limit, "the job reached its limit of 5:00"), nullptr,
       "ended by Slurm: the job reached its limit of 5:00"},
      {JobState::cancelled, theirs, by_signal, "06:04:10", "cancelled by alice at 06:04:10"},
      {JobState::cancelled, theirs, hung(by_signal), "06:04:10",
       "cancelled by alice at 06:04:10, it had hung since 06:02:00: rank 2 on n1 sleeps"},
      // It ended by itself before it could be cancelled, or has begun again since.
      {JobState::failed, "failed, exit code 3", report_of(3, CauseKind::exit, "rank 0 on n0: x"),
       "06:04:13", "failed, exit code 3: rank 0 on n0: x"},
      {JobState::completed, "ended with exit code 0", report_of(0), "05:00:00",
       "ended with exit code 0"},
  };
  for (const Case& one : cases) {
    KnownJob remembered = known(job_of(one.state), one.engine_words, one.report);
    KnownJob forgotten = known(std::nullopt, "", one.report);
    if (one.cancelled_at != nullptr) {
      remembered = cancelled(std::move(remembered), one.cancelled_at);
      forgotten = cancelled(std::move(forgotten), one.cancelled_at);
    }
    EXPECT_EQ(summary_now(remembered).words, one.words);
    EXPECT_EQ(summary_now(forgotten).words, one.words);
    EXPECT_EQ(summary_now(forgotten).state, one.state) << one.words;
    EXPECT_EQ(summary_now(forgotten).exit_code, summary_now(remembered).exit_code) << one.words;
  }
}

TEST_F(TheJobTold, ATimeLimitIsSaidOnceBesideTheExitCode) {
  const JobReport report =
      report_of(124, CauseKind::time_limit, "the job reached its time limit of 5:00");
  EXPECT_EQ(summary_now(known(job_of(JobState::failed),
                              "ended by Slurm at its time limit, exit code 124", report))
                .words,
            "ended by Slurm, exit code 124: the job reached its time limit of 5:00");
}

TEST_F(TheJobTold, TheExitCodeIsSaidOnce) {
  constexpr const char* cause = "rank 0 on n0 ended with exit code 3";
  const JobReport by_exit = report_of(3, CauseKind::exit, cause, 3);
  const JobReport by_another = report_of(9, CauseKind::exit, cause, 3);
  const JobReport by_signal = report_of(137, CauseKind::signal, "rank 0 on n0 was killed");
  struct Case {
    KnownJob job;
    const char* words;
    const char* words_beside_code;
  };
  const auto failed = [](const char* words, const JobReport& report) {
    return known(job_of(JobState::failed), words, report, "failed");
  };
  for (const Case& one : std::vector<Case>{
           {failed("failed, exit code 3", by_exit), "failed: rank 0 on n0 ended with exit code 3",
            "failed: rank 0 on n0 ended with exit code 3"},
           {known(std::nullopt, "", by_exit), "failed: rank 0 on n0 ended with exit code 3",
            "failed: rank 0 on n0 ended with exit code 3"},
           {known(std::nullopt, "", by_another),
            "failed, exit code 9: rank 0 on n0 ended with exit code 3",
            "failed: rank 0 on n0 ended with exit code 3"},
           {failed("failed, exit code 137", by_signal),
            "failed, exit code 137: rank 0 on n0 was killed", "failed: rank 0 on n0 was killed"},
           {known(std::nullopt, "", report_of(0)), "ended with exit code 0", "ended"},
           {known(job_of(JobState::completed), "ended with exit code 0", report_of(0)),
            "ended with exit code 0", "ended"},
           {known(std::nullopt, "", report_of(143, CauseKind::interrupted, interrupted)),
            "interrupted by SIGTERM, exit code 143", "interrupted by SIGTERM"},
       }) {
    EXPECT_EQ(summary_now(one.job).words, one.words);
    EXPECT_EQ(summary_now(one.job).words_beside_code, one.words_beside_code);
  }
}

TEST_F(TheJobTold, AJobThatLostANodeAndEndedWell) {
  JobReport report = report_of(1, CauseKind::node_lost, "n2 was lost");
  report.run.attempts[0].cause->node = "n2";
  report.run.attempts.emplace_back();
  report.run.exit_code = 0;
  const KnownJob completed =
      known(job_of(JobState::completed), "ended with exit code 0", report, "ended");
  for (const KnownJob& job : {completed, known(std::nullopt, "", report)}) {
    EXPECT_EQ(summary_now(job).words, "ended with exit code 0 after 1 new attempt (n2 was lost)");
    EXPECT_EQ(summary_now(job).words_beside_code, "ended after 1 new attempt (n2 was lost)");
  }
}

TEST_F(TheJobTold, WithoutAReportTheOutputsLastLineOfTopruns) {
  KnownJob failed = known(job_of(JobState::failed), "failed, exit code 2", std::nullopt, "failed");
  failed.last_line = "script gone.py: No such file or directory";
  EXPECT_EQ(summary_now(failed).words,
            "failed, exit code 2; its output ends with: script gone.py: No such file or directory");
  EXPECT_EQ(summary_now(failed).words_beside_code,
            "failed; its output ends with: script gone.py: No such file or directory");
  failed.job.reset();
  EXPECT_EQ(summary_now(failed).words,
            "it is not known how it ended; its output ends with: script gone.py: No such file or "
            "directory");
  EXPECT_EQ(summary_now(cancelled(failed)).words, "cancelled by alice at 06:04:10");
}

TEST_F(TheJobTold, WhatDoesNotFollowIsNotSaid) {
  EXPECT_EQ(summary_now(known(std::nullopt, "", std::nullopt)).words,
            "it is not known how it ended");
  EXPECT_EQ(summary_now(known(std::nullopt, "", report_of(std::nullopt))).words,
            "it is not known how it ended; last heard of at 06:04:11");
  EXPECT_EQ(
      summary_now(known(std::nullopt, "", report_of(75, CauseKind::requeued, "requeued"))).words,
      "it is not known how it ended; requeued at 06:04:11");
  EXPECT_EQ(summary_now(known(std::nullopt, "", report_of(std::nullopt))).exit_code, std::nullopt);
  KnownJob queued = known(std::nullopt, "", std::nullopt);
  queued.waited_for = {"3", "12_4"};
  EXPECT_EQ(summary_now(queued).words, "it had not begun: it waited for jobs 3, 12_4");
  EXPECT_FALSE(summary_now(queued).is_over);
  queued.waited_for = {"3"};
  queued.failed_predecessors = {"job 3 failed, exit code 2"};
  EXPECT_EQ(summary_now(queued).words, "not started: job 3 failed, exit code 2");
  EXPECT_EQ(summary_now(queued).words_beside_code, "not started: job 3 failed, exit code 2");
  EXPECT_EQ(summary_now(queued).exit_code, 69);
  EXPECT_EQ(summary_now(queued).state, JobState::cancelled);
  EXPECT_TRUE(summary_now(queued).is_over);
  EXPECT_EQ(summary_now(cancelled(queued)).words, "cancelled by alice at 06:04:10");
  // A hang that is over, or that is not why it ended, is not named.
  JobReport over = hung(report_of(143, CauseKind::interrupted, interrupted));
  over.run.attempts.back().hang->over = at("06:03:00");
  EXPECT_EQ(summary_now(cancelled(known(std::nullopt, "", over))).words,
            "cancelled by alice at 06:04:10");
  EXPECT_EQ(
      summary_now(known(std::nullopt, "", hung(report_of(1, CauseKind::exit, "rank 0: x")))).words,
      "failed, exit code 1: rank 0: x");
  // By scancel: Slurm knows that, the run itself only its signal.
  const JobReport ended = report_of(143, CauseKind::interrupted, interrupted);
  EXPECT_EQ(summary_now(known(job_of(JobState::cancelled), theirs, ended)).words, theirs);
  EXPECT_EQ(summary_now(known(std::nullopt, "", ended)).words,
            "interrupted by SIGTERM, exit code 143");
  // Cancelled while it waited: nothing of it ever ran.
  const JobSummary waited = summary_now(cancelled(known(std::nullopt, "", std::nullopt)));
  EXPECT_EQ(waited.words, "cancelled by alice at 06:04:10");
  EXPECT_EQ(waited.exit_code, 143);
}

TEST_F(TheJobTold, AForgottenRunThatASignalEndedHasNotFailed) {
  struct Interruption {
    JobReport report;
    const char* words;
  };
  const Interruption cases[] = {
      {report_of(143, CauseKind::interrupted, interrupted),
       "interrupted by SIGTERM, exit code 143"},
      {report_of(130, CauseKind::interrupted, "interrupted"),
       "interrupted by SIGINT, exit code 130"},
      {report_of(1, CauseKind::interrupted, interrupted), "interrupted, exit code 1"},
      {hung(report_of(143, CauseKind::interrupted, interrupted)),
       "interrupted by SIGTERM, exit code 143, it had hung since 06:02:00: rank 2 on n1 sleeps"},
  };
  for (const Interruption& one : cases) {
    const JobSummary what = summary_now(known(std::nullopt, "", one.report));
    EXPECT_EQ(what.words, one.words);
    EXPECT_EQ(what.state, JobState::unknown) << "Slurm alone knew whether it was cancelled";
    EXPECT_TRUE(what.is_over) << one.words;
    EXPECT_EQ(what.exit_code, model::reported_code(one.report.run));
    const KnownJob goes_on = known(job_of(JobState::running), "running", one.report);
    EXPECT_EQ(summary_now(goes_on).words.find("its run was interrupted"), 0u)
        << summary_now(goes_on).words;
    EXPECT_TRUE(summary_now(goes_on).words.contains(" at 06:04:11, exit code"))
        << summary_now(goes_on).words;
  }
  const auto failed =
      known(job_of(JobState::running), "running", report_of(7, CauseKind::exit, "rank 0: x"));
  EXPECT_EQ(summary_now(failed).words, "its run failed at 06:04:11, exit code 7");
  EXPECT_FALSE(
      summary_now(known(std::nullopt, "", report_of(75, CauseKind::requeued, "requeued"))).is_over);
  EXPECT_FALSE(summary_now(known(std::nullopt, "", report_of(std::nullopt))).is_over);
  EXPECT_TRUE(summary_now(known(std::nullopt, "", report_of(0))).is_over);
  EXPECT_FALSE(summary_now(known(job_of(JobState::running), "running", std::nullopt)).is_over);
}

TEST_F(TheJobTold, ARequeueIsToldFromAPreemption) {
  const Job waits = job_of(JobState::pending, 1);
  EXPECT_EQ(summary_now(known(waits, "waiting", report_of(75, CauseKind::requeued, "x"))).words,
            "waiting, requeued at 06:04:11");
  EXPECT_EQ(summary_now(known(waits, "waiting", report_of(75, CauseKind::preempted, "x"))).words,
            "waiting, preempted at 06:04:11");
  EXPECT_EQ(summary_now(known(waits, "waiting", std::nullopt)).words,
            "waiting, put back into the queue");
  EXPECT_EQ(summary_now(known(waits, "waiting", report_of(1, CauseKind::exit, "x"))).words,
            "waiting, put back into the queue at 06:04:11");
  Job back = job_of(JobState::pending, 1);
  back.submitted = at("06:04:29");  // Slurm's time of the requeue
  EXPECT_EQ(summary_now(known(back, "waiting", report_of(1, CauseKind::exit, "x"))).words,
            "waiting, put back into the queue at 06:04:29");
  EXPECT_EQ(summary_now(known(job_of(JobState::pending), "waiting", std::nullopt)).words,
            "waiting");
  // Runs again: what the report says is of the run before.
  Job again = job_of(JobState::running, 1);
  again.started = at("06:10:00");
  EXPECT_EQ(summary_now(known(again, "running", report_of(75, CauseKind::requeued, "x"))).words,
            "running");
}

TEST_F(TheJobTold, CancelledWhileItWaitedForItsNextRun) {
  const JobReport preempted = report_of(75, CauseKind::preempted, "x");
  Job job = job_of(JobState::cancelled, 1);
  job.started = job.ended = at("06:20:00");
  for (const auto& one : {known(job, theirs, preempted), known(std::nullopt, "", preempted)}) {
    const JobSummary what = summary_now(cancelled(one, "06:20:00"));
    EXPECT_EQ(what.words, "cancelled by alice at 06:20:00");
    EXPECT_EQ(what.exit_code, 143);
    EXPECT_EQ(what.ended, at("06:20:00"));
  }
}

TEST_F(TheJobTold, AJobThatRuns) {
  const auto words = [](const JobReport& report) {
    return summary_now(known(job_of(JobState::running), "running", report)).words;
  };
  JobReport report = report_of(std::nullopt);
  EXPECT_EQ(words(report), "running");
  EXPECT_EQ(words(hung(report)), "hangs since 06:02:00: rank 2 on n1 sleeps");
  report.run.restarts = 1;
  report.run.max_restarts = 3;
  EXPECT_EQ(words(report), "running, restart 1 of 3");
  report.run.attempts.back().nodes.resize(3);
  EXPECT_EQ(words(report), "running, restart 1 of 3") << "the engine tells no number";
  Job of_four = job_of(JobState::running);
  of_four.nodes = 4;
  EXPECT_EQ(summary_now(known(of_four, "running", report)).words,
            "running, restart 1 of 3, on 3 of its 4 nodes");
  report.run.spares = {"n3"};
  EXPECT_EQ(summary_now(known(of_four, "running", report)).words, "running, restart 1 of 3");
  report.run.spares.clear();
  report.run.attempts.back().ended = at("06:04:11");
  EXPECT_EQ(words(hung(report)), "running, restart 1 of 3: starts again");
  report.run.attempts.back() = {};
  EXPECT_EQ(words(report), "running, restart 1 of 3: waiting for nodes");
}

TEST_F(TheJobTold, AMomentOfAnotherDayHasItsDate) {
  EXPECT_EQ(moment_text(at("06:04:10"), at("00:00:00")), "06:04:10");
  EXPECT_EQ(moment_text(at("06:04:10"), at("23:59:59") + std::chrono::seconds(1)),
            "2026-11-28 06:04:10");
}

TEST_F(TheJobTold, TextsOfOthersArePrintable) {
  KnownJob job = known(std::nullopt, "", hung(report_of(143, CauseKind::interrupted, interrupted)));
  job.report->run.attempts.back().hang->verdict.what = "rank 2\x1b[2J";
  job.story.cancels = {{"ali\nce", at("06:04:10")}};
  job.story.name = "a\x1b[1mb";
  const JobSummary what = summary_now(job);
  EXPECT_TRUE(is_printable(what.words)) << what.words;
  EXPECT_TRUE(is_printable(what.name)) << what.name;
}

TEST_F(TheJobTold, ACancelBeforeTheStartIsToldOnceAndAsSuch) {
  KnownJob waited = cancelled(known(std::nullopt, "", std::nullopt));
  waited.has_output = false;
  EXPECT_EQ(summary_now(waited).words, "cancelled by alice at 06:04:10, before it started");
  const std::string text = forgotten_text(waited, nullptr);
  EXPECT_FALSE(text.contains("until")) << text;
  Job job = job_of(JobState::cancelled);
  job.started.reset();
  EXPECT_EQ(summary_now(cancelled(known(job, theirs, std::nullopt))).words,
            "cancelled by alice at 06:04:10, before it started");
}

TEST_F(TheJobTold, ACancelAfterARequeueIsNotBeforeTheStart) {
  Job job = job_of(JobState::cancelled);
  job.started.reset();
  const KnownJob has_run = cancelled(
      known(job, theirs, report_of(exit_preempted, CauseKind::requeued, "requeued by root")));
  EXPECT_TRUE(summary_now(has_run).words.starts_with(
      "cancelled by alice at 06:04:10, while it waited to start again"))
      << summary_now(has_run).words;
  job.restarts = 1;  // its report may be gone
  EXPECT_EQ(summary_now(cancelled(known(job, theirs, std::nullopt))).words,
            "cancelled by alice at 06:04:10, while it waited to start again");
}

TEST_F(TheJobTold, ASecondCancelDoesNotMoveTheTime) {
  KnownJob job = cancelled(
      known(std::nullopt, "", report_of(143, CauseKind::interrupted, interrupted)), "06:04:10");
  job.story.cancels.push_back({"bob", at("06:04:13")});
  EXPECT_EQ(summary_now(job).words, "cancelled by alice at 06:04:10");
  KnownJob waited = cancelled(known(std::nullopt, "", std::nullopt));
  waited.story.cancels.push_back({"bob", at("06:09:00")});
  EXPECT_EQ(summary_now(waited).words, "cancelled by alice at 06:04:10");
}

TEST(JobStory, LinesAreReadAsTheyAreWritten) {
  const WallTime first = time_in("2026-11-28T06:04:10Z").value();
  const JobStory story = parse_story(
      submission_line({.name = "train \"1\"\n",
                       .report = "/x/report.json",
                       .launcher = "mpirun",
                       .submitted = {{"alice", first}}}) +
      "no JSON\n{\"act\":7}\n" + cancel_line({"bob", first + std::chrono::hours(1)}) +
      cancel_line({"carol", first + std::chrono::hours(2)}) + "{\"act\":\"cancelled\"}\n");
  EXPECT_EQ(story.name.raw(), "train \"1\"\n");
  EXPECT_EQ(story.report, "/x/report.json");
  EXPECT_EQ(story.launcher, "mpirun");
  ASSERT_TRUE(story.submitted);
  EXPECT_EQ(story.submitted->by.raw(), "alice");
  EXPECT_EQ(story.submitted->at, first);
  ASSERT_EQ(story.cancels.size(), 2u);
  EXPECT_EQ(story.cancels.back().by.raw(), "carol");
  EXPECT_TRUE(parse_story("").cancels.empty());
}

TEST(JobStory, ACancelOfSomeTasksIsThatOfTheseAlone) {
  const std::string text = cancel_line({"bob", time_in("2026-11-28T06:04:10Z").value()}, {2, 3});
  EXPECT_EQ(parse_story(text, {3}).cancels.size(), 1u);
  EXPECT_EQ(parse_story(text, {3, 4}).cancels.size(), 1u);
  EXPECT_TRUE(parse_story(text, {1}).cancels.empty());
  const JobStory whole = parse_story(text);
  EXPECT_TRUE(whole.cancels.empty());
  EXPECT_EQ(whole.cancelled_tasks, (TaskNumbers{2, 3}));
}

TEST_F(TheJobTold, WhoSentTheSignalThatEndedIt) {
  struct Case {
    Job job;
    const char* engine_words;
    int code;
    std::vector<JobStory::Signal> signals;
    const char* words;
  };
  const auto by = [](std::string name, std::string_view clock) {
    return JobStory::Signal{{"alice", at(clock)}, std::move(name)};
  };
  const Job failed = job_of(JobState::failed), killed = job_of(JobState::cancelled);
  const std::vector<Case> cases = {
      {failed,
       "failed, exit code 143",
       143,
       {by("TERM", "06:04:10")},
       "failed, exit code 143: alice sent SIGTERM at 06:04:10"},
      {killed,
       theirs,
       143,
       {by("KILL", "06:04:10")},
       "cancelled by a user or an administrator: alice sent SIGKILL at 06:04:10"},
      {failed,
       "failed, exit code 143",
       143,
       {by("TERM", "05:04:10")},  // to an earlier run
       "failed, exit code 143: interrupted: ended by SIGTERM"},
      {failed,
       "failed, exit code 143",
       143,
       {by("INT", "06:04:10")},
       "failed, exit code 143: interrupted: ended by SIGTERM"},
  };
  for (const auto& [job, words, code, signals, expected] : cases) {
    KnownJob one = known(job, words, report_of(code, CauseKind::interrupted, interrupted));
    one.story.signals = signals;
    EXPECT_EQ(summary_now(one).words, expected);
  }
  KnownJob forgotten = known(std::nullopt, "", report_of(143, CauseKind::interrupted, interrupted));
  forgotten.story = parse_story(signal_line(by("TERM", "06:04:10")));
  EXPECT_EQ(summary_now(forgotten).words,
            "interrupted by SIGTERM, exit code 143: alice sent SIGTERM at 06:04:10");
  forgotten.story = parse_story(signal_line(by("TERM", "06:05:10")));  // after its end
  EXPECT_EQ(summary_now(forgotten).words, "interrupted by SIGTERM, exit code 143");
  KnownJob without_report = known(killed, theirs, std::nullopt);
  without_report.story.signals = {by("TERM", "06:04:10")};
  without_report.job->started = std::nullopt;
  EXPECT_EQ(summary_now(without_report).words, theirs);
  without_report.job->started = at("06:10:00");  // requeued since
  EXPECT_EQ(summary_now(without_report).words, theirs);
  without_report.job->started = at("06:00:00");
  EXPECT_EQ(summary_now(without_report).words,
            fmt::format("{}: alice sent SIGTERM at 06:04:10", theirs));
  without_report.job->ended = at("06:04:09");  // just before the signal
  EXPECT_EQ(summary_now(without_report).words, theirs);
  without_report.job->ended = at("06:04:10");
  EXPECT_NE(summary_now(without_report).words, theirs);
  KnownJob crashed =
      known(failed, "failed, exit code 3", report_of(3, CauseKind::exit, "rank 0: x"));
  crashed.story.signals = {by("TERM", "06:01:00")};
  EXPECT_EQ(summary_now(crashed).words, "failed, exit code 3: rank 0: x");
}

TEST(JobStory, ASignalToSomeTasksIsThatOfTheseAlone) {
  const std::string text =
      signal_line({{"bob", time_in("2026-11-28T06:04:10Z").value()}, "TERM"}, {2, 3});
  ASSERT_EQ(parse_story(text, {3}).signals.size(), 1u);
  EXPECT_EQ(parse_story(text, {3}).signals.front().name, "TERM");
  EXPECT_TRUE(parse_story(text, {1}).signals.empty());
}

// A story has whole seconds, and a run's begin has parts of one.
TEST(JobSummary, ACancelInTheSecondOfTheBeginIsOfThisRun) {
  JobStory story;
  story.cancels = {{"alice", at("06:04:09")}, {"bob", at("06:04:10")}};
  const auto* const cancel = cancel_since(story, at("06:04:10") + std::chrono::milliseconds(700));
  ASSERT_NE(cancel, nullptr);
  EXPECT_EQ(cancel->by, "bob");
  EXPECT_EQ(cancel_since(story, at("06:04:11")), nullptr);
}

}  // namespace
}  // namespace toprun::jobs
