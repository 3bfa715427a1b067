#include "observe/snapshot/notice.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "run/model/exit.h"

namespace toprun::snapshot {
namespace {

using namespace std::chrono_literals;
using nlohmann::json;

Run failed_run(int exit_code) {
  model::AttemptRecord attempt;
  attempt.attempt = 2;
  attempt.nodes = {{"n0", 0, 0, 2, ""}, {"n1", 1, 2, 2, ""}};
  if (exit_code != 0) {
    attempt.cause.emplace();
    attempt.cause->kind = model::CauseKind::exit;
    attempt.cause->rank = 3;
    attempt.cause->node = "n1";
    attempt.cause->exit_code = exit_code;
  }
  attempt.hang.emplace();
  attempt.hang->after = 30s;
  attempt.hang->verdict.what = "rank 3 on n1 sleeps";
  Run run;
  run.record.job = "a job";
  run.record.attempts = {attempt};
  run.record.exit_code = exit_code;
  run.record.started = WallTime(100s);
  run.record.ended = WallTime(165s);
  run.id = "17";
  run.record.program = "/job/train.py";
  return run;
}

TEST(Notice, SaysWhatHappened) {
  const json ended = notice_json(Happening::ended, failed_run(7), WallTime(165s));
  EXPECT_EQ(ended["text"],
            "toprun: train.py (17) failed after 1 min 05 s: rank 3 on n1 ended with exit code 7");
  EXPECT_EQ(ended["event"], "ended");
  EXPECT_EQ(ended["exit_code"], 7);
  EXPECT_EQ(ended["ranks"], 4);
  EXPECT_EQ(ended["nodes"], 2);
  EXPECT_EQ(ended["attempt"], 2);
  const json well = notice_json(Happening::ended, failed_run(0), WallTime(165s));
  EXPECT_EQ(well["text"], "toprun: train.py (17) ended well after 1 min 05 s");
  EXPECT_EQ(well["what"], nullptr);
  EXPECT_EQ(well["exit_code"], 0);
  snapshot::Run finding = failed_run(0);
  finding.record.exit_code = model::exit_found;
  EXPECT_EQ(notice_json(Happening::ended, finding, WallTime(165s))["text"],
            "toprun: train.py (17) found something after 1 min 05 s, exit code 3");
  snapshot::Run restarted = failed_run(0);
  restarted.record.restarts = 1;
  EXPECT_EQ(notice_json(Happening::ended, restarted, WallTime(165s))["text"],
            "toprun: train.py (17) ended well after 1 min 05 s and 1 restart");
  restarted = failed_run(7);
  restarted.record.restarts = 2;
  EXPECT_EQ(notice_json(Happening::ended, restarted, WallTime(165s))["text"],
            "toprun: train.py (17) failed after 1 min 05 s and 2 restarts: rank 3 on n1 ended with "
            "exit code 7");
  const json again = notice_json(Happening::restarts, failed_run(7), WallTime(165s));
  EXPECT_EQ(again["text"],
            "toprun: train.py (17) starts again: rank 3 on n1 ended with exit code 7");
  EXPECT_EQ(again["exit_code"], nullptr);
  snapshot::Run next = failed_run(7);
  next.record.attempts.emplace_back();
  EXPECT_EQ(notice_json(Happening::restarts, next, WallTime(165s)), again);
  const json hangs = notice_json(Happening::hangs, failed_run(7), WallTime(165s));
  EXPECT_EQ(hangs["text"],
            "toprun: train.py (17) hangs: no rank has made progress for 30.0 s: rank 3 on n1 "
            "sleeps");
}

TEST(Notice, SaysWhereAJobHung) {
  snapshot::Run run = failed_run(1);
  model::Cause& cause = *run.record.attempts.back().cause;
  cause = {};
  cause.kind = model::CauseKind::hang;
  cause.message = "rank 1 on n1 sleeps at hang.py:9 in load";
  const json ended = notice_json(Happening::ended, run, WallTime(165s));
  EXPECT_EQ(ended["text"],
            "toprun: train.py (17) failed after 1 min 05 s: the job hung: rank 1 on n1 sleeps at "
            "hang.py:9 in load, exit code 1");
  EXPECT_EQ(ended["what"], "the job hung: rank 1 on n1 sleeps at hang.py:9 in load");
  EXPECT_EQ(notice_json(Happening::restarts, run, WallTime(165s))["text"],
            "toprun: train.py (17) starts again: the job hung: rank 1 on n1 sleeps at hang.py:9 "
            "in load");
}

TEST(Notice, CallsTheJobByTheNameThatItsUserChose) {
  snapshot::Run run = failed_run(0);
  run.record.title = "bigrun";
  EXPECT_EQ(notice_json(Happening::ended, run, {})["text"],
            "toprun: bigrun (17) ended well after 1 min 05 s");
  run.id = "";
  run.record.job = "bigrun";
  EXPECT_EQ(notice_json(Happening::ended, run, {})["text"],
            "toprun: bigrun ended well after 1 min 05 s");
}

TEST(Notice, OfARunWithoutAnAttemptIsWhole) {
  snapshot::Run run;
  run.record.job = "a job";
  EXPECT_EQ(notice_json(Happening::ended, run, {})["text"], "toprun: a job ended well after 0 ms");
  EXPECT_EQ(notice_json(Happening::hangs, run, {})["what"], nullptr);
}

}  // namespace
}  // namespace toprun::snapshot
